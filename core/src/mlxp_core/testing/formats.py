"""What every format of tool calls and of thinking must hold to, whoever wrote it.

Subclass ``ToolFormatSuite`` with ``tool_format``, ``samples`` and ``render``, or ``ThinkingFormatSuite`` with
``thinking_format``. The laws are tested through the reader that serves requests, once with markers that are tokens and
once with markers that are plain text.
"""

import itertools
import json
import random
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import Struct

from mlxp_core.contracts import ThinkingFormat, ToolFormat
from mlxp_core.reading import End, Reader
from mlxp_core.testing.grammar import check_grammar
from mlxp_core.testing.recut import recut
from mlxp_core.types import (
    CallBroken,
    CallDelta,
    CallDone,
    CallStarted,
    Event,
    GenerateRequest,
    Reason,
    Started,
    TextDelta,
    ThinkingDelta,
    ToolChoice,
    ToolSpec,
)

Calls = Sequence[tuple[str, Mapping[str, Any]]]
"""Names and arguments."""

WHOLE = 1 << 30

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
        lambda inner: st.dictionaries(st.sampled_from("abc"), inner, max_size=3) | st.lists(inner, max_size=3),
        max_leaves=6,
    ).map(lambda inner: {"inner": inner}),
}
_CALL = st.tuples(st.just("book_table"), st.fixed_dictionaries({}, optional=_KINDS)) | st.just(("list.files-now", {}))
_CALM = settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.differing_executors],
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


class TextTokens:
    """A tokenizer whose ordinary tokens are whatever pieces of text one asks for.

    Args:
        markers: texts that are one token each.
        special: whether these are no text themselves.
    """

    def __init__(self, markers: Iterable[str] = (), *, special: bool = True) -> None:
        self.added_tokens: Mapping[int, str] = dict(enumerate(dict.fromkeys(markers)))
        self.special_tokens: Mapping[int, str] = self.added_tokens if special else {}
        self._ids = {text: token for token, text in self.added_tokens.items()}
        self._texts: dict[int, str] = dict(self.added_tokens)

    def token(self, text: str) -> int:
        """Return an ordinary token that stands for ``text``, even where that is how a marker is written."""
        token = len(self._texts)
        self._texts[token] = text
        return token

    def tokens(self, text: str, cuts: Iterable[int] = ()) -> list[int]:
        """Return ``text`` as tokens: markers as theirs, everything else in pieces that end at ``cuts``."""
        tokens: list[int] = []
        places = sorted({0, len(text), *(cut for cut in cuts if 0 <= cut <= len(text))})
        start = at = 0
        while at < len(text):
            marker = next((mark for mark in sorted(self._ids, key=len)[::-1] if text.startswith(mark, at)), None)
            if (marker is not None or at in places) and start < at:
                tokens.append(self.token(text[start:at]))
                start = at
            if marker is not None:
                tokens.append(self._ids[marker])
                start = at = at + len(marker)
            else:
                at += 1
        return tokens if start == len(text) else [*tokens, self.token(text[start:])]

    def token_id(self, text: str) -> int | None:
        """Return the id of a marker."""
        return self._ids.get(text)

    def token_bytes(self, token: int) -> bytes:
        """Return the text of a token in UTF-8; nothing for special ones."""
        return b"" if token in self.special_tokens else self._texts[token].encode()

    def decode(self, tokens: Sequence[int], *, special: bool = True) -> str:
        """Return the text of tokens."""
        return "".join(self._texts[token] for token in tokens if special or token not in self.special_tokens)


def read(reader: Reader, tokens: Iterable[int], reason: Reason = "stop") -> tuple[list[Event], End]:
    """Feed ``tokens``, then end with ``reason``; return everything said."""
    events = [event for token in tokens for event in reader.feed(token)]
    last, end = reader.finish(reason)
    return events + last, end


def whole(events: Iterable[Event]) -> tuple[Event, ...]:
    """Return the events with neighbouring deltas joined, so that runs can be compared."""
    return recut(events, WHOLE)


def shown(events: Iterable[Event]) -> str:
    """Return the visible text."""
    return "".join(event.text for event in events if isinstance(event, TextDelta))


def thought(events: Iterable[Event]) -> str:
    """Return the thinking."""
    return "".join(event.text for event in events if isinstance(event, ThinkingDelta))


def called(events: Iterable[Event]) -> list[tuple[str, Any]]:
    """Return names and decoded arguments of the completed calls."""
    names: dict[int, str] = {}
    fragments: dict[int, str] = {}
    done: list[tuple[str, Any]] = []
    for event in events:
        match event:
            case CallStarted(index=index, name=name):
                names[index], fragments[index] = name, ""
            case CallDelta(index=index, arguments=fragment):
                fragments[index] += fragment
            case CallDone(index=index):
                done.append((names[index], json.loads(fragments[index])))
            case _:
                pass
    return done


def tool_reader(table: TextTokens, tools: ToolFormat, choice: ToolChoice | None = None) -> Reader:
    """Return a reader for a request with ``TOOLS``; its ids count from 0."""
    request = GenerateRequest(
        id="r", model="m", prompt="", tools=TOOLS, tool_choice=choice if choice is not None else ToolChoice()
    )
    ids = itertools.count()
    return Reader(
        request, table=table, end_tokens=frozenset(), tools=tools, new_id=lambda: f"call_{next(ids):024x}"
    )


def _check(events: Iterable[Event]) -> None:
    check_grammar([Started("r", "m"), *events], complete=False)


def _cuts(length: int, seed: int) -> list[int]:
    """Return random places to cut a text: anything from nowhere to everywhere."""
    chance = random.Random(seed)  # noqa: S311 - for tests
    share = chance.choice((0.02, 0.1, 0.5, 1.0))
    return [place for place in range(length) if chance.random() < share]


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
            _check(events)
            assert called(events) == [(name, dict(arguments)) for name, arguments in sample.calls]
            assert shown(events) == sample.shows
            assert end.reason == ("calls" if sample.calls else "stop")

    @_CALM
    @given(seed=st.integers(0, 2**32))
    def test_any_cut_gives_the_same(
        self, tool_format: ToolFormat, table: TextTokens, samples: Sequence[ToolSample], seed: int
    ) -> None:
        """Streaming and not streaming cannot differ."""
        for sample in samples:
            for reason in ("stop", "length"):
                text = sample.text if reason == "stop" else sample.text[: seed % (len(sample.text) + 1)]
                expected, _ = read(tool_reader(table, tool_format), table.tokens(text), reason)
                cut = table.tokens(text, _cuts(len(text), seed))
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
                events, end = read(tool_reader(table, tool_format), table.tokens(sample.text[:length]), "length")
                _check(events)
                assert end == End("length")
                done = called(events)
                assert done == complete[: len(done)]
                started = sum(isinstance(event, CallStarted) for event in events)
                broken = [event for event in events if isinstance(event, CallBroken)]
                assert len(broken) == started - len(done) <= 1
                assert all(event.text and event.text in sample.text for event in broken)

    @_CALM
    @given(calls=st.lists(_CALL, min_size=1, max_size=3), seed=st.integers(0, 2**32))
    def test_calls_survive_a_round_trip(
        self, tool_format: ToolFormat, table: TextTokens, calls: list[tuple[str, dict[str, Any]]], seed: int
    ) -> None:
        """Any values, however spelled and cut; the same tool twice stays two calls."""
        calls = [(name, self._writable(arguments)) for name, arguments in calls]
        text = self.render(calls)
        events, end = read(tool_reader(table, tool_format), table.tokens(text, _cuts(len(text), seed)))
        _check(events)
        assert called(events) == calls
        assert end.reason == "calls"
        ids = [event.id for event in events if isinstance(event, CallStarted)]
        assert len(set(ids)) == len(calls)

    @_CALM
    @given(data=st.data(), reason=st.sampled_from(["stop", "length"]))
    def test_rubbish_comes_back_as_text(
        self, tool_format: ToolFormat, table: TextTokens, data: st.DataObject, reason: Reason
    ) -> None:
        """Nothing a model writes raises, and what is no call is shown to the letter."""
        scraps = self._scraps(tool_format)
        text = "".join(data.draw(st.lists(st.sampled_from(scraps) | st.text(max_size=3), max_size=14)))
        tokens = table.tokens(text, _cuts(len(text), len(text)))
        reader = tool_reader(table, tool_format)
        events, _ = read(reader, tokens, reason)
        _check(events)
        once, _ = read(tool_reader(table, tool_format), table.tokens(text), reason)
        assert whole(events) == whole(once)
        assert not any("failed" in warning for warning in reader.warnings)
        if not any(isinstance(event, CallStarted) for event in events):
            assert shown(events) == text

    def test_an_unknown_tool_comes_back_as_text(self, tool_format: ToolFormat, table: TextTokens) -> None:
        """Only that call; its neighbours are calls."""
        call = ("list.files-now", {})
        for calls in ([("nobody", {"a": 1})], [call, ("nobody", {"a": 1})], [("nobody", {"a": "b"}), call]):
            known = [each for each in calls if each == call]
            reader = tool_reader(table, tool_format)
            events, _ = read(reader, table.tokens(self.render(calls)))
            _check(events)
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
        calls = [("list.files-now", {}), ("list.files-now", {})]
        reader = tool_reader(table, tool_format, ToolChoice(parallel=False))
        events, end = read(reader, table.tokens(self.render(calls)))
        assert called(events) == calls[:1]
        assert end == End("calls")

    def _scraps(self, tool_format: ToolFormat) -> list[str]:
        """Return pieces of which broken markup is made."""
        text = self.render([("book_table", {"guests": 4, "notes": "a"}), ("list.files-now", {})])
        half = len(text) // 2
        cut = [text[place : place + 9] for place in range(0, len(text), 9)]
        return [*tool_format.openers, *tool_format.keeps, *cut, text, text[:half], text[half:], "\n", " ", "x"]

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
        _check(events)
        return events, end

    def test_a_thought_is_told_from_the_answer(
        self, thinking_format: ThinkingFormat, table: TextTokens
    ) -> None:
        """The header and the newlines around the markers belong to neither."""
        form = thinking_format
        for newline in ("", "\n"):
            start = form.open + form.header + ("" if form.header.endswith("\n") else newline)
            events, _ = self._read(form, table, f"{start}why\n\n  not{form.close}{newline * 2}42\n")
            assert whole(events) == (ThinkingDelta("why\n\n  not"), TextDelta("42\n"))

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
        for inner in ("", "\n", form.header, form.header.rstrip("\n")):
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

    @_CALM
    @given(data=st.data(), inside=st.booleans())
    def test_any_cut_gives_the_same(
        self, thinking_format: ThinkingFormat, table: TextTokens, data: st.DataObject, inside: bool
    ) -> None:
        """And nothing that is no marker, header or newline gets lost."""
        form = thinking_format
        half = len(form.close) // 2
        scraps = [form.open, form.close, form.header, form.close[:half], form.close[half:], form.open[:-1], "\n", "ab"]
        text = "".join(data.draw(st.lists(st.sampled_from(scraps), max_size=12)))
        expected, _ = self._read(form, table, text, inside=inside)
        events, _ = self._read(form, table, text, cuts=_cuts(len(text), len(text)), inside=inside)
        assert whole(events) == whole(expected)
        assert (shown(events) + thought(events)).count("ab") == text.count("ab")
