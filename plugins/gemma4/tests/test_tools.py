"""Gemma 4's tool calls, against the kit, and what this family alone does."""

import json
import math

import pytest

from mlxp_core.contracts import CallArguments, CallEnd, CallName
from mlxp_core.reading import Reader
from mlxp_core.testing.formats import TOOLS, ToolFormatSuite, ToolSample, tool_reader
from mlxp_core.testing.reading import TextTokens, called, read, shown
from mlxp_core.types import CallBroken, GenerateRequest, ToolSpec
from mlxp_gemma4 import tools


def noted(value):
    """Write a value as the template does."""
    match value:
        case str():
            return f'<|"|>{value}<|"|>'
        case dict():
            return "{" + ",".join(f"{key}:{noted(inner)}" for key, inner in value.items()) + "}"
        case list():
            return "[" + ",".join(map(noted, value)) + "]"
        case _:
            return json.dumps(value)


def call(name, arguments):
    return f"call:{name}{noted(arguments)}"


def block(*calls):
    return "<|tool_call>" + "".join(calls) + "<tool_call|>"


NOTHING = call("list.files-now", {})
CALLS = [
    (
        "book_table",
        {
            "guests": 4,
            "notes": 'window {if free}, "quiet": a,b\n  }}}{{{ ] \\n <tool_call|> 🍜',
            "when": {"day": [1, {"x": "}"}, [], {}], "at": None, "sure": True},
            "hour": 19.5,
        },
    ),
    ("list.files-now", {}),
]


class TestBlocks(ToolFormatSuite):
    """One block for each call."""

    unwritable = (tools.MARK,)

    @pytest.fixture
    def tool_format(self):
        return tools.FORMAT

    @pytest.fixture
    def samples(self):
        text = self.render(CALLS)
        return [
            ToolSample(text=text, calls=tuple(CALLS)),
            ToolSample(text=f"Of course.{text} Done.", calls=tuple(CALLS), shows="Of course. Done."),
            ToolSample(text=f"\n{text}\n", calls=tuple(CALLS)),
            ToolSample(text="a <b> {c} call:d{} <|tool", calls=(), shows="a <b> {c} call:d{} <|tool"),
        ]

    def render(self, calls):
        return "".join(block(call(name, arguments)) for name, arguments in calls)


class TestOneBlock(TestBlocks):
    """All calls in one block."""

    def render(self, calls):
        return block(*(call(name, arguments) for name, arguments in calls))


class TestPlainQuotes(TestBlocks):
    """Everything between the braces is JSON."""

    unwritable = ()

    def render(self, calls):
        return "\n".join(block(f"call:{name}{json.dumps(arguments)}") for name, arguments in calls)


def listen(text, *, reason="stop"):
    table = TextTokens((*tools.FORMAT.openers, *tools.FORMAT.keeps))
    reader = tool_reader(table, tools.FORMAT)
    events, end = read(reader, table.tokens(text), reason)
    return events, end, reader


def arguments_of(body):
    events, _, _ = listen(block(f"call:book_table{{{body}}}"))
    [(_, arguments)] = called(events)
    return arguments


@pytest.mark.parametrize(
    ("body", "arguments"),
    [
        ('notes:<|"|>2025<|"|>', {"notes": "2025"}),
        ('notes:<|"|><|"|>', {"notes": ""}),
        ('notes:<|"|> <| <|" "|> <|"|>', {"notes": ' <| <|" "|> '}),
        ('notes:<|"|>\\n\\"<|"|>', {"notes": '\\n\\"'}),
        ('notes:"a \\"b\\" {c}\\n\\u0041"', {"notes": 'a "b" {c}\nA'}),
        ('notes:"C:\\work"', {"notes": "C:\\work"}),
        ('notes:"two\nlines"', {"notes": "two\nlines"}),
        ('notes:""', {"notes": ""}),
        ("notes:2025", {"notes": "2025"}),
        ("notes:true", {"notes": "true"}),
        ("notes:null", {"notes": None}),
        ("notes:by the window: 5 < 6", {"notes": "by the window: 5 < 6"}),
        ("stranger:2025", {"stranger": 2025}),
        ('stranger:<|"|>2025<|"|>', {"stranger": "2025"}),
        ("stranger:007", {"stranger": "007"}),
        ("guests:four", {"guests": "four"}),
        ('guests:<|"|>4<|"|>', {"guests": 4}),
        ('guests:<|"|>four<|"|>', {"guests": "four"}),
        ("inside:True", {"inside": True}),
        ("inside:None", {"inside": None}),
        ("hour:1e999", {"hour": math.inf}),
        ('nickname:<|"|>null<|"|>', {"nickname": "null"}),
        ('tags:<|"|>["a"]<|"|>', {"tags": ["a"]}),
        ('tags:[<|"|>a<|"|>,b c,"d",-1.5e3,null,[],]', {"tags": ["a", "b c", "d", -1500.0, None, []]}),
        (
            'when:{x-1:{y.2:[{z/3:1}]},<|"|>a:b<|"|>:2,"c,d":3}',
            {"when": {"x-1": {"y.2": [{"z/3": 1}]}, "a:b": 2, "c,d": 3}},
        ),
        ('\n <|"|>notes<|"|> : <|"|>x<|"|> ,\n "guests" : 2 ,\n', {"notes": "x", "guests": 2}),
        ("guests:1,guests:2", {"guests": 2}),
        ("größe:1", {"größe": 1}),
        (" ", {}),
    ],
)
def test_what_is_clear_is_understood(body, arguments):
    assert arguments_of(body) == arguments


@pytest.mark.parametrize("name", ["a.b", "server/tool", "ns:tool", "x-y_z", "Ärger", "a b"])
def test_a_name_is_whatever_stands_before_the_brace(name):
    signs = tools.parser((ToolSpec(name),)).feed(block(f"call:{name} {{x:1}}"))
    assert signs == [CallName(name), CallArguments('{"x": 1}'), CallEnd()]


def test_arguments_go_out_while_they_are_read():
    parser, grown = tools.parser(TOOLS), ""
    for piece, expected in (
        ("<|tool_call>call:book_table{", "{"),
        ('notes:<|"|>', '{"notes": "'),
        ('window "a"', '{"notes": "window \\"a\\"'),
        ("\n{", '{"notes": "window \\"a\\"\\n{'),
        ('<|"', '{"notes": "window \\"a\\"\\n{'),
        ("|>,gue", '{"notes": "window \\"a\\"\\n{"'),
        ("sts:1", '{"notes": "window \\"a\\"\\n{", "guests": '),
        ("2,tags:[true,", '{"notes": "window \\"a\\"\\n{", "guests": 12, "tags": [true'),
        ("]}", '{"notes": "window \\"a\\"\\n{", "guests": 12, "tags": [true]}'),
    ):
        grown += "".join(sign.json for sign in parser.feed(piece) if isinstance(sign, CallArguments))
        assert grown == expected


@pytest.mark.parametrize(
    "text",
    [
        "<|tool_call>call:list.files-now{}",
        "<|tool_call>call:list.files-now{}<tool",
        "<|tool_call>call:list.files-now{}\n",
        " <|tool_call>\n call:list.files-now{}",
    ],
)
def test_the_end_of_a_block_may_be_missing(text):
    for reason, ended in (("stop", "calls"), ("length", "length")):
        events, end, _ = listen(text, reason=reason)
        assert called(events) == [("list.files-now", {})]
        assert end.reason == ended


def test_a_token_that_waits_for_results_ends_the_answer():
    table = TextTokens((*tools.FORMAT.openers, *tools.FORMAT.keeps, "<|tool_response>"))
    request = GenerateRequest(id="r", model="m", prompt="", tools=TOOLS)
    wait = table.token_id("<|tool_response>")
    reader = Reader(request, table=table, end_tokens=frozenset({wait}), tools=tools.FORMAT)
    text = f"<|tool_call>{NOTHING}<|tool_response>response:x"
    events, end = read(reader, table.tokens(text))
    assert called(events) == [("list.files-now", {})]
    assert (end.reason, shown(events)) == ("calls", "")


def test_a_missing_end_does_not_swallow_the_next_block():
    events, _, _ = listen(f"<|tool_call>{NOTHING}<|tool_call>{NOTHING}<tool_call|>")
    assert called(events) == [("list.files-now", {})] * 2


def test_a_missing_end_does_not_swallow_what_follows():
    events, _, _ = listen(f"<|tool_call>{NOTHING}\nDone.")
    assert called(events) == [("list.files-now", {})]
    assert shown(events) == "\nDone."


@pytest.mark.parametrize(
    "body",
    [
        'notes:<|"|>x',
        'notes:<|"|>x}',
        'notes:"x}',
        "guests:1",
        "guests:",
        "guests:}",
        "guests}",
        ":1}",
        "guests:1,,hour:2}",
        "tags:[1}}",
        "tags:1]}",
        'notes:<|"|>a<|"|>b}',
        'notes:a<|"|>b<|"|>}',
        'notes:"a" b}',
        "guests:1 {}",
        "when:{" + "a:{" * 100 + "}" * 102,
    ],
)
def test_a_broken_call_says_so_and_keeps_its_markup(body):
    text = f"call:book_table{{{body}"
    events, end, reader = listen(f"<|tool_call>{text}")
    [broken] = [event for event in events if isinstance(event, CallBroken)]
    assert broken.text == text
    assert (shown(events), end.reason) == ("", "stop")
    assert reader.warnings


@pytest.mark.parametrize("body", ["guests}", "tags:[1}}", "guests", 'notes:<|"|><tool_call|><|"|> x}'])
def test_a_broken_call_does_not_swallow_the_next_block(body):
    events, _, _ = listen(block(f"call:book_table{{{body}") + block(NOTHING) + "Done.")
    [broken] = [event for event in events if isinstance(event, CallBroken)]
    assert broken.text == f"call:book_table{{{body}"
    assert called(events) == [("list.files-now", {})]
    assert shown(events) == "Done."


@pytest.mark.parametrize("text", ["{}", "call:", "call:{}", "call:book_table", "call:book<b>{}", "x", ""])
def test_markup_around_no_call_comes_back(text):
    events, end, reader = listen(block(text))
    assert (shown(events), end.reason) == (block(text), "stop")
    assert reader.warnings


def test_a_call_of_an_unknown_tool_hides_what_is_inside_it():
    text = block(call("nobody", {"x": block(NOTHING)}))
    events, _, _ = listen(text)
    assert (called(events), shown(events)) == ([], text)
