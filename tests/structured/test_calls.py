"""A call that is held to its grammar is read as a call, and its arguments are what the tool's schema accepts."""

import importlib
import json
import os
from pathlib import Path

import pytest
from msgspec.structs import replace

from mlxp_core.errors import BadRequest
from mlxp_core.prompting import Tokenizer
from mlxp_core.reading import Reader
from mlxp_core.types import (
    CallDelta,
    CallDone,
    CallStarted,
    GenerateRequest,
    Message,
    Text,
    ToolChoice,
    ToolSpec,
)

WALKS = int(os.environ.get("STRUCTURED_WALKS", "2"))
FAMILIES = {"gemma4": "gemma4-e2b", "qwen35": "qwen35", "minicpm5": "minicpm5"}
SCHEMAS = json.loads((Path(__file__).parent / "tools.json").read_text("utf-8"))
TOOLS = {name: ToolSpec(name, parameters=schema) for name, schema in SCHEMAS.items()}
ANY = ToolChoice("required")


@pytest.fixture(params=FAMILIES)
def family(request):
    return request.param


@pytest.fixture
def markup(family):
    return importlib.import_module(f"mlxp_{family}.tools").FORMAT


@pytest.fixture(params=["own", "sketch"])
def tokens(request, family):
    """A tokenizer with the family's markers, and one where some of them are letters."""
    if request.param == "sketch":
        return request.getfixturevalue("vocabulary")
    return own_tokenizer(request.getfixturevalue("tiny_checkpoints") / FAMILIES[family])


def own_tokenizer(folder):
    ends = json.loads((folder / "generation_config.json").read_text())["eos_token_id"]
    return Tokenizer((folder / "tokenizer.json").read_bytes(), end_tokens=frozenset(ends))


@pytest.fixture
def call(kinds, walk, markup, tokens):
    """Return what a random answer comes to that must be a call: how it ended, its events, its text."""

    def say(tools, choice, seed, *, grammar=None):
        shape = (grammar or markup.grammar(tools, choice)).shape()
        request = GenerateRequest(
            id="r", model="m", prompt=(Message("user", (Text("hi"),)),), tools=tools, tool_choice=choice
        )
        reader = Reader(
            replace(request, output=shape), table=tokens, end_tokens=tokens.end_tokens, tools=markup
        )
        constraint = kinds[shape.kind].compile(shape.body, tokens)
        events = []
        for token in walk(constraint, tokens, seed, most=900):
            events += reader.feed(token)
            if reader.end is not None:
                break
        return reader.end, events

    return say


def arguments(events):
    """Return name and arguments of each call; anything but calls is an error."""
    told = []
    for event in events:
        match event:
            case CallStarted(name=name):
                told.append((name, []))
            case CallDelta(arguments=fragment):
                told[-1][1].append(fragment)
            case CallDone():
                pass
            case _:
                raise AssertionError(event)
    return [(name, "".join(fragments)) for name, fragments in told]


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_named_call_is_read_and_fits_its_schema(call, judge, name):
    ended = 0
    for seed in range(WALKS):
        end, events = call((*TOOLS.values(),), ToolChoice("one", name), seed)
        if end is not None:
            ended += 1
            assert end.reason == "calls"
            for called, text in arguments(events):
                assert called == name
                judge(text, SCHEMAS[name])
    assert ended or name in {"get_weather", "nested", "objs"}  # their texts may go on for long


def test_some_call_is_one_of_the_tools(call, judge):
    for seed in range(3 * WALKS):
        end, events = call((*TOOLS.values(),), ANY, seed)
        if end is not None:
            assert end.reason == "calls"
            for called, text in arguments(events):
                judge(text, SCHEMAS[called])


@pytest.mark.parametrize(("parallel", "counts"), [(False, {1}), (True, {1, 2, 3, 4, 5, 6, 7, 8})])
def test_several_calls_come_only_where_they_are_wanted(call, parallel, counts):
    tool = ToolSpec(
        "go", parameters={"type": "object", "properties": {"n": {"enum": [1, 2]}}, "required": ["n"]}
    )
    told = [call((tool,), ToolChoice("required", parallel=parallel), seed) for seed in range(24)]
    seen = {len(arguments(events)) for end, events in told if end is not None}
    assert seen <= counts
    assert parallel == (seen != {1})


SPELLED = [
    "</param>",
    "</parameter>",
    "<function=go>",
    "</tool_call>",
    "<tool_call|>",
    "a & b < c",
    " x ",
    "\n",
    "]]",
    "<![CDATA[x",
    "&lt;",
    "{",
    '"',
    "null",
    "5",
    "call:go{}",
]
CANNOT_STAND = {
    "qwen35": {"</parameter>", "</tool_call>"},
    "minicpm5": set(),
    "gemma4": set(),
}


@pytest.mark.parametrize("text", SPELLED)
def test_no_text_is_mistaken_for_markup(call, family, text):
    schema = {"type": "object", "properties": {"s": {"const": text}}, "required": ["s"]}
    tools, choice = (ToolSpec("go", parameters=schema),), ToolChoice("required", parallel=False)
    if text in CANNOT_STAND[family]:
        with pytest.raises(BadRequest, match="none of these can be written"):
            call(tools, choice, 1)
    else:
        end, events = call(tools, choice, 1)
        assert end.reason == "calls"
        ((_, told),) = arguments(events)
        assert json.loads(told) == {"s": text}


@pytest.mark.parametrize(
    ("schema", "named"),
    [
        ({"type": "object", "properties": {"a": False}, "required": ["a"]}, "'a'"),
        ({"type": "object", "properties": {"a": {"not": {}}}, "required": ["a"]}, "not"),
        ({"type": "object", "properties": {"a": {"type": "array", "uniqueItems": True}}}, "uniqueItems"),
        ({"type": "object", "properties": {"a": {"$ref": "#/$defs/gone"}}}, "gone"),
    ],
)
def test_what_cannot_be_met_is_refused_by_name(call, schema, named):
    with pytest.raises(BadRequest, match=named):
        call((ToolSpec("go", parameters=schema),), ANY, 0)


@pytest.mark.parametrize("nested", [False, True])
def test_what_is_nearly_markup_can_be_said(call, nested):
    text = {"type": "string", "pattern": r"^<p>\[\[ a &lt; b \]\]</p><param></func$"}
    value = {"type": "object", "properties": {"t": text}, "required": ["t"], "additionalProperties": False}
    schema = {"type": "object", "properties": {"s": value if nested else text}, "required": ["s"]}
    end, events = call((ToolSpec("go", parameters=schema),), ToolChoice("required", parallel=False), 1)
    assert end.reason == "calls"
    ((_, told),) = arguments(events)
    said = json.loads(told)["s"]
    assert (said["t"] if nested else said) == "<p>[[ a &lt; b ]]</p><param></func"
