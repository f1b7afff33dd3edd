"""What every format of tool calls must hold to, whoever wrote it; formats of thinking have their suite next door.

Subclass ``ToolFormatSuite`` with ``tool_format``, ``samples`` and ``render``, or ``ThinkingFormatSuite`` with
``thinking_format``. The laws are tested through the reader that serves requests, once with markers that are tokens and
once with markers that are plain text.
"""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct

from mlxp_core.contracts import ToolFormat
from mlxp_core.reading import End, Reader
from mlxp_core.testing.reading import CALM, TextTokens, called, check_answer, random_cuts, read, shown, whole
from mlxp_core.testing.thinking import ThinkingFormatSuite
from mlxp_core.types import (
    CallBroken,
    CallStarted,
    GenerateRequest,
    Reason,
    TextDelta,
    ToolChoice,
    ToolSpec,
)

__all__ = ["TOOLS", "ThinkingFormatSuite", "ToolFormatSuite", "ToolSample", "tool_reader"]

Calls = Sequence[tuple[str, Mapping[str, Any]]]
"""Names and arguments."""

TOOLS = (
    ToolSpec(
        "book_table",
        parameters={
            "type": "object",
            "properties": {
                "guests": {"type": "integer"},
                "hour": {"type": "number"},
                "inside": {"type": "boolean"},
                "notes": {"type": "string"},
                "tags": {"type": "array", "items": {"type": "string"}},
                "when": {"type": "object"},
                "nickname": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            },
        },
    ),
    ToolSpec("list.files-now", parameters={"type": "object", "properties": {}}),
)
"""The tools of the suites' requests; every parameter of the first has its own JSON type."""

_KINDS: dict[str, st.SearchStrategy[Any]] = {
    "guests": st.integers(-(2**53), 2**53),
    "hour": st.floats(allow_nan=False, allow_infinity=False, width=32),
    "inside": st.booleans(),
    "notes": st.text(),
    "tags": st.lists(st.text(max_size=8), max_size=3),
    "when": st.recursive(
        st.none() | st.booleans() | st.integers(-999, 999) | st.text(max_size=8),
        lambda inner: (
            st.dictionaries(st.sampled_from("abc"), inner, max_size=3) | st.lists(inner, max_size=3)
        ),
        max_leaves=6,
    ).map(lambda inner: {"inner": inner}),
}
_CALL: st.SearchStrategy[tuple[str, dict[str, Any]]] = st.one_of(
    st.tuples(st.just("book_table"), st.fixed_dictionaries({}, optional=_KINDS)),
    st.just(("list.files-now", {})),
)


class ToolSample(Struct, frozen=True, kw_only=True):
    """An answer as a model writes it, and what it means.

    Attributes:
        text: the answer.
        calls: the calls in it.
        shows: the text that is no call.
    """

    text: str
    calls: tuple[tuple[str, Mapping[str, Any]], ...]
    shows: str = ""


def tool_reader(table: TextTokens, tools: ToolFormat, choice: ToolChoice | None = None) -> Reader:
    """Return a reader for a request with ``TOOLS``; its ids count from 0."""
    request = GenerateRequest(
        id="r", model="m", prompt="", tools=TOOLS, tool_choice=choice if choice is not None else ToolChoice()
    )
    ids = itertools.count()
    return Reader(
        request, table=table, end_tokens=frozenset(), tools=tools, new_id=lambda: f"call_{next(ids):024x}"
    )


class ToolFormatSuite:
    """The laws of one format of tool calls.

    Attributes:
        unwritable: strings that this format cannot carry inside a text value.
    """

    unwritable: tuple[str, ...] = ()

    @pytest.fixture
    def tool_format(self) -> ToolFormat:
        """Return the format under test."""
        raise NotImplementedError("a ToolFormatSuite needs a fixture `tool_format`")

    @pytest.fixture
    def samples(self) -> Sequence[ToolSample]:
        """Return answers with calls to ``TOOLS``, as the model writes them."""
        raise NotImplementedError("a ToolFormatSuite needs a fixture `samples`")

    @pytest.fixture(params=["tokens", "text"])
    def table(self, request: pytest.FixtureRequest, tool_format: ToolFormat) -> TextTokens:
        """Return a tokenizer that has the format's markers as tokens, and one that has not."""
        return TextTokens((*tool_format.openers, *tool_format.keeps) if request.param == "tokens" else ())

    def render(self, calls: Calls) -> str:
        """Return ``calls`` as the model would write them."""
        raise NotImplementedError("a ToolFormatSuite needs a method `render`")

    def test_markers_are_said(self, tool_format: ToolFormat) -> None:
        """A format without markers would never be looked for."""
        assert tool_format.name
        assert tool_format.openers
        assert all((*tool_format.openers, *tool_format.keeps))

    def test_samples_are_read(
        self, tool_format: ToolFormat, table: TextTokens, samples: Sequence[ToolSample]
    ) -> None:
        """What the model writes is understood."""
        assert samples, "give at least one sample"
        for sample in samples:
            events, end = read(tool_reader(table, tool_format), table.tokens(sample.text))
            check_answer(events)
            assert called(events) == [(name, dict(arguments)) for name, arguments in sample.calls]
            assert shown(events) == sample.shows
            assert end.reason == ("calls" if sample.calls else "stop")

    @CALM
    @given(seed=st.integers(0, 2**32))
    def test_any_cut_gives_the_same(
        self, tool_format: ToolFormat, table: TextTokens, samples: Sequence[ToolSample], seed: int
    ) -> None:
        """Streaming and not streaming cannot differ."""
        for sample in samples:
            for reason in ("stop", "length"):
                text = sample.text if reason == "stop" else sample.text[: seed % (len(sample.text) + 1)]
                expected, _ = read(tool_reader(table, tool_format), table.tokens(text), reason)
                cut = table.tokens(text, random_cuts(len(text), seed))
                events, _ = read(tool_reader(table, tool_format), cut, reason)
                assert whole(events) == whole(expected)

    def test_half_written_markup_never_shows(
        self, tool_format: ToolFormat, table: TextTokens, samples: Sequence[ToolSample]
    ) -> None:
        """Nothing is shown that has to be taken back."""
        for sample in samples:
            reader, said = tool_reader(table, tool_format), ""
            for token in table.tokens(sample.text, range(len(sample.text))):
                said += shown(reader.feed(token))
                assert sample.shows.startswith(said)

    def test_a_cut_call_is_never_complete(
        self, tool_format: ToolFormat, table: TextTokens, samples: Sequence[ToolSample]
    ) -> None:
        """At the token limit what is open is broken, and says so; nothing of it is lost."""
        for sample in samples:
            complete = [(name, dict(arguments)) for name, arguments in sample.calls]
            for length in range(len(sample.text)):
                events, end = read(
                    tool_reader(table, tool_format), table.tokens(sample.text[:length]), "length"
                )
                check_answer(events)
                assert end == End("length")
                done = called(events)
                assert done == complete[: len(done)]
                started = sum(isinstance(event, CallStarted) for event in events)
                broken = [event for event in events if isinstance(event, CallBroken)]
                assert len(broken) == started - len(done) <= 1
                assert all(event.text and event.text in sample.text for event in broken)

    @CALM
    @given(calls=st.lists(_CALL, min_size=1, max_size=3), seed=st.integers(0, 2**32))
    def test_calls_survive_a_round_trip(
        self, tool_format: ToolFormat, table: TextTokens, calls: list[tuple[str, dict[str, Any]]], seed: int
    ) -> None:
        """Any values, however spelled and cut; the same tool twice stays two calls."""
        calls = [(name, self._writable(arguments)) for name, arguments in calls]
        text = self.render(calls)
        events, end = read(tool_reader(table, tool_format), table.tokens(text, random_cuts(len(text), seed)))
        check_answer(events)
        assert called(events) == calls
        assert end.reason == "calls"
        ids = [event.id for event in events if isinstance(event, CallStarted)]
        assert len(set(ids)) == len(calls)

    @CALM
    @given(data=st.data(), reason=st.sampled_from(["stop", "length"]))
    def test_rubbish_comes_back_as_text(
        self, tool_format: ToolFormat, table: TextTokens, data: st.DataObject, reason: Reason
    ) -> None:
        """Nothing a model writes raises, and what is no call is shown to the letter."""
        scraps = self._scraps(tool_format)
        text = "".join(data.draw(st.lists(st.sampled_from(scraps) | st.text(max_size=3), max_size=14)))
        tokens = table.tokens(text, random_cuts(len(text), len(text)))
        reader = tool_reader(table, tool_format)
        events, _ = read(reader, tokens, reason)
        check_answer(events)
        once, _ = read(tool_reader(table, tool_format), table.tokens(text), reason)
        assert whole(events) == whole(once)
        assert not any("failed" in warning for warning in reader.warnings)
        if not any(isinstance(event, CallStarted) for event in events):
            assert shown(events) == text

    def test_an_unknown_tool_comes_back_as_text(self, tool_format: ToolFormat, table: TextTokens) -> None:
        """Only that call; its neighbours are calls."""
        call: tuple[str, dict[str, Any]] = ("list.files-now", {})
        for calls in ([("nobody", {"a": 1})], [call, ("nobody", {"a": 1})], [("nobody", {"a": "b"}), call]):
            known = [each for each in calls if each == call]
            reader = tool_reader(table, tool_format)
            events, _ = read(reader, table.tokens(self.render(calls)))
            check_answer(events)
            assert called(events) == known
            assert "nobody" in shown(events)
            assert "list.files-now" not in shown(events)
            assert reader.warnings

    def test_no_call_surfaces_without_tools(
        self, tool_format: ToolFormat, table: TextTokens, samples: Sequence[ToolSample]
    ) -> None:
        """With the choice ``none``, markup is text."""
        for sample in samples:
            reader = tool_reader(table, tool_format, ToolChoice("none"))
            events, end = read(reader, table.tokens(sample.text))
            assert whole(events) == (TextDelta(sample.text),)
            assert end == End("stop")

    def test_one_call_is_enough_when_calls_are_not_parallel(
        self, tool_format: ToolFormat, table: TextTokens
    ) -> None:
        """Generation ends with the first complete call."""
        calls: list[tuple[str, dict[str, Any]]] = [("list.files-now", {}), ("list.files-now", {})]
        reader = tool_reader(table, tool_format, ToolChoice(parallel=False))
        events, end = read(reader, table.tokens(self.render(calls)))
        assert called(events) == calls[:1]
        assert end == End("calls")

    def _scraps(self, tool_format: ToolFormat) -> list[str]:
        """Return pieces of which broken markup is made."""
        text = self.render([("book_table", {"guests": 4, "notes": "a"}), ("list.files-now", {})])
        half = len(text) // 2
        cut = [text[place : place + 9] for place in range(0, len(text), 9)]
        return [
            *tool_format.openers,
            *tool_format.keeps,
            *cut,
            text,
            text[:half],
            text[half:],
            "\n",
            " ",
            "x",
        ]

    def _writable(self, value: Any) -> Any:
        """Return the value without what the format cannot carry."""
        match value:
            case str():
                return "" if any(text in value for text in self.unwritable) else value
            case dict():
                return {key: self._writable(inner) for key, inner in value.items()}
            case list():
                return [self._writable(inner) for inner in value]
            case _:
                return value
