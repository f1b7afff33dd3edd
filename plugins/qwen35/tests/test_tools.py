"""Qwen 3.5's tool calls, against the kit, and what this family alone does."""

import json

import pytest

from mlxp_core.testing.formats import ToolFormatSuite, ToolSample, tool_reader
from mlxp_core.testing.reading import TextTokens, called, read, shown
from mlxp_core.types import CallBroken
from mlxp_qwen35 import tools


def element(name, arguments):
    """Write one call as the template does, but for what stands around it."""
    parts = [f"<function={name}>\n"]
    for key, value in arguments.items():
        text = value if isinstance(value, str) else json.dumps(value)
        parts.append(f"<parameter={key}>\n{text}\n</parameter>\n")
    return "".join([*parts, "</function>"])


def wrapped(*calls):
    return "<tool_call>\n" + "\n".join(calls) + "\n</tool_call>"


NOTHING = element("list.files-now", {})
CALLS = [
    (
        "book_table",
        {
            "guests": 4,
            "notes": '\n  window <if free> & </b> &amp; "quiet"\n\n',
            "when": {"day": [1, {"x": "}"}]},
            "inside": True,
        },
    ),
    ("list.files-now", {}),
]


class TestElements(ToolFormatSuite):
    """As the template writes them: one wrapper for each call."""

    unwritable = ("</parameter>", "</function>", "<parameter=", "</tool_call>")

    @pytest.fixture
    def tool_format(self):
        return tools.FORMAT

    @pytest.fixture
    def samples(self):
        text = self.render(CALLS)
        return [
            ToolSample(text=text, calls=tuple(CALLS)),
            ToolSample(
                text=f"Of course.\n\n{text}\nDone.", calls=tuple(CALLS), shows="Of course.\n\n\nDone."
            ),
            ToolSample(text=f"\n\n{text}\n", calls=tuple(CALLS)),
            ToolSample(text="a <function> {c} & <tool", calls=(), shows="a <function> {c} & <tool"),
        ]

    def render(self, calls):
        return "\n".join(wrapped(element(name, arguments)) for name, arguments in calls)


class TestOneWrapper(TestElements):
    """All calls in one wrapper."""

    def render(self, calls):
        return wrapped(*(element(name, arguments) for name, arguments in calls))


class TestBareElements(TestElements):
    """No wrapper at all."""

    def render(self, calls):
        return "\n".join(element(name, arguments) for name, arguments in calls)


class TestJson(TestElements):
    """JSON within the wrapper."""

    unwritable = ()

    def render(self, calls):
        objects = [json.dumps({"name": name, "arguments": arguments}) for name, arguments in calls]
        return "\n".join(map(wrapped, objects))


def listen(text, *, reason="stop"):
    table = TextTokens((*tools.FORMAT.openers, *tools.FORMAT.keeps), special=False)
    reader = tool_reader(table, tools.FORMAT)
    events, end = read(reader, table.tokens(text), reason)
    return events, end, reader


@pytest.mark.parametrize(
    ("key", "written", "value"),
    [
        ("notes", "\n2025\n", "2025"),
        ("notes", "\n  indented\n\n", "  indented\n"),
        ("notes", "\n\n", ""),
        ("notes", "\n \n", " "),
        ("notes", "x", "x"),
        ("notes", "", ""),
        ("notes", "\n&lt; <![CDATA[x]]>\n", "&lt; <![CDATA[x]]>"),
        ("notes", "\nnull\n", "null"),
        ("nickname", "\nnull\n", "null"),
        ("guests", "\n4\n", 4),
        ("guests", "\nfour\n", "four"),
        ("hour", "\n19.5\n", 19.5),
        ("inside", "\nTrue\n", True),
        ("inside", "\nfalse\n", False),
        ("inside", "\nNone\n", None),
        ("tags", "\n['a', 'b']\n", ["a", "b"]),
        ("when", '\n{"day": "fri", "at": null}\n', {"day": "fri", "at": None}),
        ("stranger", "\n7\n", 7),
        ("stranger", "\nseven\n", "seven"),
    ],
)
def test_values_lose_one_newline_at_each_edge_and_follow_the_schema(key, written, value):
    text = f"<function=book_table>\n<parameter={key}>{written}</parameter>\n</function>"
    assert called(listen(wrapped(text))[0]) == [("book_table", {key: value})]


@pytest.mark.parametrize(
    "text",
    [
        "<tool_call>\n<function=book_table>\n<parameter=notes>\nx\n</parameter>\n</function>",
        "<tool_call>\n<function=book_table>\n<parameter=notes>\nx\n</parameter>\n</function>\n",
        "<tool_call>\n<function=book_table>\n<parameter=notes>\nx\n</parameter>\n</tool_call>",
        "<tool_call>\n<function=book_table>\n<parameter=notes>\nx\n</function>\n</tool_call>",
        "<tool_call>\n<function=book_table>\n<parameter=notes>\nx\n</tool_call>",
        "<tool_call>\n<function=book_table>\n<parameter=notes>\nx",
        "<function=book_table>\n<parameter=notes>\nx\n</parameter>\n</func",
        "<function=book_table><parameter=notes>x</parameter></function>",
        '<tool_call>{"name": "book_table", "arguments": {"notes": "x"}}',
    ],
)
def test_missing_closers_are_forgiven(text):
    events, end, _ = listen(text)
    assert called(events) == [("book_table", {"notes": "x"})]
    assert end.reason == "calls"


def test_an_open_call_that_was_cut_is_never_complete():
    events, end, _ = listen("<tool_call>\n<function=book_table>\n<parameter=notes>\nx", reason="length")
    assert [event.text for event in events if isinstance(event, CallBroken)]
    assert (called(events), end.reason) == ([], "length")


def test_a_missing_parameter_end_does_not_swallow_the_next_parameter():
    text = "<function=book_table>\n<parameter=notes>\nx\n<parameter=guests>\n2\n</parameter>\n</function>"
    assert called(listen(wrapped(text))[0]) == [("book_table", {"notes": "x", "guests": 2})]


def test_elements_and_json_may_share_a_wrapper():
    text = wrapped(NOTHING, '{"name": "book_table", "arguments": {"guests": 2}}', NOTHING)
    names = [name for name, _ in called(listen(text)[0])]
    assert names == ["list.files-now", "book_table", "list.files-now"]


@pytest.mark.parametrize(
    "body", ["<function=book_table>text</function>", '{"name": "book_table", "arguments": {"a": 1']
)
def test_a_broken_call_says_so_and_keeps_its_markup(body):
    events, end, reader = listen(wrapped(body))
    [broken] = [event for event in events if isinstance(event, CallBroken)]
    assert broken.text.strip() == body
    assert (shown(events), end.reason) == ("", "stop")
    assert reader.warnings


@pytest.mark.parametrize("body", ["", "\n", "call me", "<function>", "<function=", "{", "<tool_call>"])
def test_markup_around_no_call_comes_back(body):
    text = f"<tool_call>{body}</tool_call>"
    events, end, _ = listen(text)
    assert (shown(events), end.reason) == (text, "stop")


def test_a_call_of_an_unknown_tool_hides_what_is_inside_it():
    text = element("nobody", {"x": "<function=list.files-now>"})
    events, _, _ = listen(text)
    assert (called(events), shown(events)) == ([], text)
