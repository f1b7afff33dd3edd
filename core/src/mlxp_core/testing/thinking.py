"""What every format of thinking must hold to, whoever wrote it.

Subclass ``ThinkingFormatSuite`` and give it your ``thinking_format``.
"""

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlxp_core.contracts import ThinkingFormat
from mlxp_core.reading import End, Reader
from mlxp_core.testing.reading import CALM, TextTokens, check_answer, random_cuts, read, shown, thought, whole
from mlxp_core.types import Event, GenerateRequest, Reason, TextDelta, ThinkingDelta


class ThinkingFormatSuite:
    """The laws of one format of thinking."""

    @pytest.fixture
    def thinking_format(self) -> ThinkingFormat:
        """Return the format under test."""
        raise NotImplementedError("a ThinkingFormatSuite needs a fixture `thinking_format`")

    @pytest.fixture(params=["special", "added", "text"])
    def table(self, request: pytest.FixtureRequest, thinking_format: ThinkingFormat) -> TextTokens:
        """Return tokenizers whose markers are special tokens, shown tokens, and plain text."""
        markers = (thinking_format.open, thinking_format.close) if request.param != "text" else ()
        return TextTokens(markers, special=request.param == "special")

    def _read(
        self,
        thinking: ThinkingFormat,
        table: TextTokens,
        text: str,
        *,
        cuts: Iterable[int] = (),
        inside: bool = False,
        reason: Reason = "stop",
    ) -> tuple[list[Event], End]:
        request = GenerateRequest(id="r", model="m", prompt="")
        reader = Reader(
            request, table=table, end_tokens=frozenset(), thinking=thinking, inside_thinking=inside
        )
        events, end = read(reader, table.tokens(text, cuts), reason)
        check_answer(events)
        return events, end

    def test_a_thought_is_told_from_the_answer(
        self, thinking_format: ThinkingFormat, table: TextTokens
    ) -> None:
        """The header and the newlines around the markers belong to neither."""
        form = thinking_format
        for newline in ("", "\n"):
            start = form.open + form.header + ("" if form.header.endswith("\n") else newline)
            events, _ = self._read(form, table, f"{start}why\n\n  not{newline}{form.close}{newline * 2}42\n")
            assert whole(events) == (ThinkingDelta("why\n\n  not"), TextDelta("42\n"))

    def test_only_one_newline_at_each_edge_is_layout(
        self, thinking_format: ThinkingFormat, table: TextTokens
    ) -> None:
        """Others are the model's own; so is the last one of a thought that has no end."""
        form = thinking_format
        start = form.open + form.header + ("" if form.header.endswith("\n") else "\n")
        events, _ = self._read(form, table, f"{start}\nwhy\n\n{form.close}42")
        assert whole(events) == (ThinkingDelta("\nwhy\n"), TextDelta("42"))
        events, _ = self._read(form, table, f"{start}why\n", reason="length")
        assert whole(events) == (ThinkingDelta("why\n"),)

    def test_the_prompt_may_have_begun_the_thought(
        self, thinking_format: ThinkingFormat, table: TextTokens
    ) -> None:
        """Then the answer starts inside it."""
        events, _ = self._read(thinking_format, table, f"why{thinking_format.close}42", inside=True)
        assert whole(events) == (ThinkingDelta("why"), TextDelta("42"))

    def test_a_cut_thought_stays_a_thought(self, thinking_format: ThinkingFormat, table: TextTokens) -> None:
        """Whatever ends it."""
        form = thinking_format
        for reason in ("stop", "length", "cancelled"):
            events, end = self._read(form, table, f"{form.open}{form.header}why", reason=reason)
            assert whole(events) == (ThinkingDelta("why"),)
            assert end == End(reason)

    def test_an_empty_thought_leaves_no_trace(
        self, thinking_format: ThinkingFormat, table: TextTokens
    ) -> None:
        """Some prompts and models write one when thinking is off."""
        form = thinking_format
        for inner in ("", "\n", form.header, form.header.rstrip("\n"), form.header + "\n"):
            events, _ = self._read(form, table, f"{form.open}{inner}{form.close}\n\n42")
            assert whole(events) == (TextDelta("42"),)

    def test_an_end_without_a_beginning_ends_nothing(
        self, thinking_format: ThinkingFormat, table: TextTokens
    ) -> None:
        """Everything is the answer; the marker shows unless it is a special token."""
        close = thinking_format.close
        events, _ = self._read(thinking_format, table, f"a{close}b")
        marker = "" if table.token_id(close) in table.special_tokens else close
        assert whole(events) == (TextDelta(f"a{marker}b"),)

    def test_there_may_be_several_thoughts(self, thinking_format: ThinkingFormat, table: TextTokens) -> None:
        """As between calls."""
        form = thinking_format
        block = f"{form.open}{form.header}why{form.close}"
        events, _ = self._read(form, table, f"{block}a{block}b")
        assert whole(events) == (
            ThinkingDelta("why"),
            TextDelta("a"),
            ThinkingDelta("why"),
            TextDelta("b"),
        )

    @CALM
    @given(data=st.data(), inside=st.booleans())
    def test_any_cut_gives_the_same(
        self, thinking_format: ThinkingFormat, table: TextTokens, data: st.DataObject, inside: bool
    ) -> None:
        """And nothing that is no marker, header or newline gets lost."""
        form = thinking_format
        half = len(form.close) // 2
        scraps = [
            form.open,
            form.close,
            form.header,
            form.close[:half],
            form.close[half:],
            form.open[:-1],
            "\n",
            "ab",
        ]
        text = "".join(data.draw(st.lists(st.sampled_from(scraps), max_size=12)))
        expected, _ = self._read(form, table, text, inside=inside)
        events, _ = self._read(form, table, text, cuts=random_cuts(len(text), len(text)), inside=inside)
        assert whole(events) == whole(expected)
        assert (shown(events) + thought(events)).count("ab") == text.count("ab")
