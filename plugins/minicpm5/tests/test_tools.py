"""MiniCPM5's tool calls, against the kit, and what this family alone does."""

import json
import re

import pytest

from mlxp_core.reading import Reader
from mlxp_core.testing.formats import ToolFormatSuite, ToolSample, tool_reader
from mlxp_core.testing.reading import TextTokens, called, read, shown
from mlxp_core.types import CallBroken, GenerateRequest, ToolChoice, ToolSpec
from mlxp_minicpm5 import thinking, tools


def element(name, arguments):
    """Write one call as the template does, with CDATA wherever text could be mistaken."""
    parts = [f'<function name="{name}">']
    for key, value in arguments.items():
        text = value if isinstance(value, str) else json.dumps(value)
        if text != text.strip() or any(mark in text for mark in "<&\n"):
            text = "<![CDATA[" + text.replace("]]>", "]]]]><![CDATA[>") + "]]>"
        parts.append(f'<param name="{key}">{text}</param>')
    return "".join([*parts, "</function>"])


def wrapped_json(name, arguments):
    return "<tool_call>\n" + json.dumps({"name": name, "arguments": arguments}) + "\n</tool_call>"


def qwen_style(name, arguments):
    parts = [f"<tool_call>\n<function={name}>\n"]
    for key, value in arguments.items():
        text = value if isinstance(value, str) else json.dumps(value)
        parts.append(f"<parameter={key}>\n{text}\n</parameter>\n")
    return "".join([*parts, "</function>\n</tool_call>"])


CALLS = [
    (
        "book_table",
        {
            "guests": 4,
            "notes": "a < b & c\n  next 'line' </param></function> 🍜",
            "when": {"day": [1, {"x": "}"}]},
        },
    ),
    ("list.files-now", {}),
]


class _Suite(ToolFormatSuite):
    write = staticmethod(element)

    @pytest.fixture
    def tool_format(self):
        return tools.FORMAT

    @pytest.fixture
    def samples(self):
        calls = [(name, {**arguments}) for name, arguments in self.sample_calls()]
        text = self.render(calls)
        return [
            ToolSample(text=text, calls=tuple(calls)),
            ToolSample(text=f"Of course.{text} Done.", calls=tuple(calls), shows="Of course. Done."),
            ToolSample(text=f"\n{text}\n", calls=tuple(calls)),
            ToolSample(text="a <b> {c} </d> & <func", calls=(), shows="a <b> {c} </d> & <func"),
        ]

    def sample_calls(self):
        return CALLS

    def render(self, calls):
        return "\n".join(self.write(name, arguments) for name, arguments in calls)


class TestElements(_Suite):
    pass


class TestJson(_Suite):
    write = staticmethod(wrapped_json)


class TestQwenStyle(_Suite):
    write = staticmethod(qwen_style)
    unwritable = ("</parameter>", "</function>", "<parameter=", "</tool_call>")

    def sample_calls(self):
        return [(name, self._writable(arguments)) for name, arguments in CALLS]


def listen(text, *, reason="stop", choice=None):
    table = TextTokens((*tools.FORMAT.openers, *tools.FORMAT.keeps))
    reader = tool_reader(table, tools.FORMAT, choice)
    events, end = read(reader, table.tokens(text), reason)
    return events, end, reader


def arguments_of(parameters, *, opening='<function name="book_table">'):
    events, _, _ = listen(f"{opening}{parameters}</function>")
    [(_, arguments)] = called(events)
    return arguments


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("2025", "2025"),
        ("  two  spaces ", "  two  spaces "),
        ("\nline\n", "line"),
        ("\n\nline\n\n", "\nline\n"),
        ("", ""),
        ("&lt;b&gt; &amp;lt; &quot;&apos; &#39;&#x41; &nbsp; & &amp", "<b> &lt; \"' 'A &nbsp; & &amp"),
        ("<![CDATA[&lt; ]] </param> ]]>", "&lt; ]] </param> "),
        ("\n  <![CDATA[ a\n]]>\n", " a\n"),
        ("<![CDATA[a]]>b<![CDATA[c]]>", "abc"),
        ("a ]]> b", "a ]]> b"),
        ("1 < 2 <b>bold</b>", "1 < 2 <b>bold</b>"),
        ('{"json": true}', '{"json": true}'),
        ("None", "None"),
    ],
)
def test_text_stays_text(written, value):
    assert arguments_of(f'<param name="notes">{written}</param>') == {"notes": value}


@pytest.mark.parametrize(
    ("key", "written", "value"),
    [
        ("guests", " 4 ", 4),
        ("guests", "four", "four"),
        ("guests", "4.5", 4.5),
        ("hour", "7.25", 7.25),
        ("hour", "NaN", "NaN"),
        ("inside", "True", True),
        ("inside", "false", False),
        ("inside", "None", None),
        ("tags", '["a", "b"]', ["a", "b"]),
        ("tags", "['a', \"it's\", ('x', 1),]", ["a", "it's", ["x", 1]]),
        ("when", "{'day': None, 'at': [1.5, True]}", {"day": None, "at": [1.5, True]}),
        ("when", '<![CDATA[{\n"a": "<"}]]>', {"a": "<"}),
        ("when", "{'a': ", "{'a': "),
        ("nickname", "7", "7"),
        ("stranger", "7", 7),
        ("stranger", "seven", "seven"),
    ],
)
def test_other_values_follow_the_schema(key, written, value):
    assert arguments_of(f'<param name="{key}">{written}</param>') == {key: value}


def test_quotes_spaces_and_newlines_in_tags_do_not_matter():
    written = "\n<param  name = 'notes' >x</param>\n <param name=\" guests \">2</param>\n"
    assert arguments_of(written, opening="<function\n name='book_table'>") == {"notes": "x", "guests": 2}


def test_a_parameter_that_comes_twice_counts_as_the_last():
    assert arguments_of('<param name="guests">1</param><param name="guests">2</param>') == {"guests": 2}


@pytest.mark.parametrize(
    "text",
    [
        '<function name="book_table"><param name="notes">x</function>',
        '<function name="book_table"><param name="notes">x',
        '<function name="book_table"><param name="notes">x</param>',
        '<function name="book_table"><param name="notes">x</param></func',
        '<tool_call><function name="book_table"><param name="notes">x</param></tool_call>',
        '<tool_call>{"name": "book_table", "arguments": {"notes": "x"}}',
        '<tool_call>{"name": "book_table", "arguments": {"notes": "x"}</tool_call>',
        "<function=book_table><parameter=notes>\nx\n</function>",
        "<tool_call><function=book_table><parameter=notes>\nx",
    ],
)
def test_missing_closers_are_forgiven_unless_the_answer_was_cut(text):
    events, end, _ = listen(text)
    assert called(events) == [("book_table", {"notes": "x"})]
    assert end.reason == "calls"
    assert listen(text, reason="length")[1].reason == "length"


def test_a_missing_parameter_end_does_not_swallow_the_next_parameter():
    assert arguments_of('<param name="notes">x<param name="guests">2</param>') == {"notes": "x", "guests": 2}


def test_a_missing_call_end_does_not_swallow_the_next_call():
    call = '<function name="book_table"><param name="guests">1</param>'
    events, _, _ = listen(f"{call}\n{call}</function>")
    assert called(events) == [("book_table", {"guests": 1})] * 2


@pytest.mark.parametrize(
    "body",
    [
        '{"name": " book_table ", "arguments": "{\\"guests\\": 2}"}',
        '{"arguments": {"guests": 2}, "name": "book_table"}',
        '{"type": "function", "function": {"name": "book_table", "arguments": {"guests": 2}}}',
        '{"name": "book_table", "parameters": {"guests": 2}, "id": [{"name": "no"}]}',
    ],
)
def test_json_calls_come_in_several_forms(body):
    assert called(listen(f"<tool_call>{body}</tool_call>")[0]) == [("book_table", {"guests": 2})]


@pytest.mark.parametrize("body", ['"arguments": ""', '"arguments": null', '"x": 1'])
def test_absent_arguments_are_an_empty_object(body):
    text = f'<tool_call>{{"name": "book_table", {body}}}</tool_call>'
    assert called(listen(text)[0]) == [("book_table", {})]


@pytest.mark.parametrize(
    "body",
    [
        '{"name": "book_table", "arguments": [1]}',
        '{"name": "book_table", "arguments": {"a": }}',
        '{"name": "book_table", "arguments": {"a": 1',
        '{"name": "book_table", arguments: {}}',
        '<function name="book_table">text</function>',
        '<function name="book_table"><param name="">1</param></function>',
        '<function name="book_table"><param name="notes"><![CDATA[x</param></function>',
    ],
)
def test_a_broken_call_says_so_and_keeps_its_markup(body):
    events, end, reader = listen(f"<tool_call>{body}</tool_call>")
    [broken] = [event for event in events if isinstance(event, CallBroken)]
    assert body.startswith(broken.text) or broken.text.startswith(body)
    assert not shown(events)
    assert end.reason == "stop"
    assert reader.warnings


def test_several_calls_may_share_one_wrapper():
    call = '<function name="list.files-now"></function>'
    events, _, _ = listen(f"<tool_call>{call}\n{call}</tool_call>")
    assert called(events) == [("list.files-now", {})] * 2


def test_a_marker_written_out_is_text():
    table = TextTokens((*tools.FORMAT.openers, *tools.FORMAT.keeps))
    text = '<function name="list.files-now"></function>'
    events, end = read(tool_reader(table, tools.FORMAT), [table.token(text)])
    assert (shown(events), end.reason) == (text, "stop")


def test_a_call_of_an_unknown_tool_hides_what_is_inside_it():
    inner = element("list.files-now", {})
    text = f'<function name="nobody"><param name="x"><![CDATA[{inner}]]></param></function>'
    events, _, _ = listen(text)
    assert called(events) == []
    assert shown(events) == text


def test_only_the_tool_that_was_chosen_may_be_called():
    text = "".join(element(name, {}) for name in ("list.files-now", "book_table"))
    events, _, _ = listen(text, choice=ToolChoice("one", name="book_table"))
    assert called(events) == [("book_table", {})]
    assert shown(events) == element("list.files-now", {})


@pytest.mark.parametrize("case", ["tool_roundtrip", "tool_parallel", "tool_then_answer", "special_arg_text"])
def test_what_the_official_template_writes_is_read_back(shared, case):
    goldens = json.loads((shared / "assets" / "minicpm5" / "template_renders.json").read_text("utf-8"))
    rendered = goldens["renders"]["chat_template.jinja"][case]["text"]
    specs = [tool["function"] for tool in goldens["cases"][case]["tools"]]
    request = GenerateRequest(
        id="r",
        model="m",
        prompt="",
        tools=tuple(ToolSpec(tool["name"], "", tool["parameters"]) for tool in specs),
    )
    turns = re.findall(r"<\|im_start\|>assistant\n(.*?)<\|im_end\|>", rendered, re.DOTALL)
    said = [message for message in goldens["cases"][case]["messages"] if message["role"] == "assistant"]
    table = TextTokens((*tools.FORMAT.openers, *tools.FORMAT.keeps))
    for turn, message in zip(turns, said, strict=True):
        reader = Reader(
            request, table=table, end_tokens=frozenset(), tools=tools.FORMAT, thinking=thinking.FORMAT
        )
        events, _ = read(reader, table.tokens(turn))
        calls = [
            (call["function"]["name"], call["function"]["arguments"])
            for call in message.get("tool_calls", [])
        ]
        assert called(events) == calls
