"""Parsers that misbehave: the request goes on, as text."""

import itertools

import pytest

from mlxp_core.contracts import CallArguments, CallEnd, CallName, Malformed, ToolFormat
from mlxp_core.reading import random_call_id
from mlxp_core.testing.formats import tool_reader
from mlxp_core.testing.reading import TextTokens, called, check_answer, read, shown, whole
from mlxp_core.types import CallBroken, CallDelta, CallDone, CallStarted, TextDelta

NAME = CallName("book_table")


class Scripted:
    """A parser that says what it was told to, one list per piece of text; its block ends with ``]``."""

    def __init__(self, script):
        self.rest = None
        self._script = iter(script)

    def feed(self, text):
        signs = next(self._script, [])
        if isinstance(signs, Exception):
            raise signs
        if "]" in text:
            self.rest = text.partition("]")[2]
        return signs

    def finish(self, *, cut):
        return self.feed("]")


def listen(script, text, *, reason="stop", cuts=range(100)):
    scripts = itertools.repeat(script)
    format_ = ToolFormat(name="scripted", openers=("[",), parser=lambda tools: Scripted(next(scripts)))
    table = TextTokens()
    reader = tool_reader(table, format_)
    events, end = read(reader, table.tokens(text, cuts), reason)
    check_answer(events)
    return whole(events), end, reader


@pytest.mark.parametrize(
    "script",
    [
        [RuntimeError("boom")],
        [[], RuntimeError("boom")],
        [[CallArguments("{}")]],
        [[CallEnd()]],
        [[CallName("nobody")]],
        [["what?"], [CallEnd()]],
    ],
)
def test_a_parser_that_fails_before_a_call_leaves_text(script):
    events, end, reader = listen(script, "a[bc]d [e]")
    assert events == (TextDelta("a[bc]d [e]"),)
    assert end.reason == "stop"
    [warning] = reader.warnings
    assert "scripted" in warning


@pytest.mark.parametrize(
    "script",
    [
        [[NAME], RuntimeError("boom")],
        [[NAME], [NAME]],
        [[NAME], [CallEnd()]],
        [[NAME, CallArguments("[1]")], [CallEnd()]],
        [[NAME, CallArguments("{")], [CallEnd()]],
    ],
)
def test_a_parser_that_fails_within_a_call_breaks_it(script):
    events, end, _ = listen(script, "a[bc]d [e]")
    assert [type(event) for event in events if not isinstance(event, CallDelta)] == [
        TextDelta,
        CallStarted,
        CallBroken,
        TextDelta,
    ]
    broken = next(event for event in events if isinstance(event, CallBroken))
    assert broken.text == "[b"
    assert events[-1] == TextDelta("c]d [e]")
    assert end.reason == "stop"


def test_a_call_that_the_parser_leaves_open_is_broken():
    events, _, _ = listen([[NAME]], "[b]c")
    assert events[1:] == (CallBroken(0, "[b]", "its parser did not end it"), TextDelta("c"))


def test_a_format_whose_parser_cannot_be_made_reads_no_calls():
    def refuse(tools):
        raise RuntimeError("no")

    table = TextTokens()
    reader = tool_reader(table, ToolFormat(name="scripted", openers=("[",), parser=refuse))
    events, _ = read(reader, table.tokens("a[b]c[d]"))
    assert shown(events) == "a[b]c[d]"
    assert len(reader.warnings) == 1


def test_a_parser_that_gives_everything_back_does_not_hang():
    class Mirror(Scripted):
        def feed(self, text):
            self.rest = text
            return []

    table = TextTokens()
    reader = tool_reader(table, ToolFormat(name="mirror", openers=("[[",), parser=lambda tools: Mirror([])))
    events, _ = read(reader, table.tokens("a[[[[b"))
    assert shown(events).startswith("a")


def test_events_are_numbered_and_in_order():
    script = [[NAME, CallArguments('{"guests"')], [CallArguments(": 2}"), CallEnd(), Malformed("x", "why")]]
    events, end, reader = listen(script, "[b]c[d]")
    assert events == (
        CallStarted(0, f"call_{0:024x}", "book_table"),
        CallDelta(0, '{"guests": 2}'),
        CallDone(0),
        TextDelta("xc"),
        CallStarted(1, f"call_{1:024x}", "book_table"),
        CallDelta(1, '{"guests": 2}'),
        CallDone(1),
        TextDelta("x"),
    )
    assert called(events) == [("book_table", {"guests": 2})] * 2
    assert end.reason == "calls"
    assert reader.warnings == ["tool-call markup is shown as text: why"]


def test_ids_are_random_and_of_the_usual_shape():
    made = {random_call_id() for _ in range(50)}
    assert len(made) == 50
    assert all(len(call) == 29 and int(call.removeprefix("call_"), 16) >= 0 for call in made)
