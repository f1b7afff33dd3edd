"""The shape of an answer, after all that a request asks for."""

import msgspec
import pytest
from msgspec import Raw

from mlxp_core.contracts import ToolFormat
from mlxp_core.desk.shapes import shape_of
from mlxp_core.errors import BadRequest
from mlxp_core.types import (
    PIECES,
    Chain,
    Either,
    GenerateRequest,
    Grammar,
    Named,
    OutputShape,
    Shaped,
    ToolChoice,
    ToolSpec,
    Words,
    Written,
    optional,
)


def never(*_):
    raise AssertionError("nothing is parsed here")


CALLS = Grammar(Named("call"), {"call": Written("<add>")})
FORMAT = ToolFormat(name="t", openers=("<", "["), parser=never, grammar=lambda *_: CALLS)
ADD, STRICT = ToolSpec("add"), ToolSpec("add", strict=True)
JSON = OutputShape("json_schema", Raw(b'{"type":"object"}'))
KINDS = {PIECES, "json_schema"}


def shape(markup=FORMAT, kinds=KINDS, **fields):
    return shape_of(GenerateRequest(id="r", model="m", prompt="hi", **fields), markup, kinds)


def grammar(told):
    assert told.kind == PIECES
    return msgspec.json.decode(told.body, type=Grammar)


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"tools": (ADD,)},
        {"tools": (STRICT,), "tool_choice": ToolChoice("none")},
    ],
)
def test_text_is_free_where_nobody_asks_for_a_shape(fields):
    assert shape(markup=None, kinds=(), **fields) == OutputShape()


@pytest.mark.parametrize("choice", [ToolChoice("required"), ToolChoice("one", "add", parallel=False)])
def test_a_forced_call_is_all_of_the_answer(choice):
    told = shape(tools=(ADD,), tool_choice=choice, output=JSON)
    assert (grammar(told), told.mixed) == (CALLS, False)


@pytest.mark.parametrize("fields", [{}, {"tools": (ADD,), "tool_choice": ToolChoice("none")}])
def test_an_answer_without_calls_has_its_own_shape(fields):
    assert shape(output=JSON, **fields) == JSON


def test_beside_tools_an_answer_is_calls_or_has_its_shape():
    told = shape(output=JSON, tools=(ADD,))
    start = Either((CALLS.start, Shaped("json_schema", Raw(b'{"type":"object"}'))))
    assert (grammar(told), told.mixed) == (Grammar(start, CALLS.rules), False)


def test_strict_tools_may_be_called_behind_text():
    told = shape(tools=(ToolSpec("mul"), STRICT))
    start = Chain((Words(without=("<", "[")), optional(CALLS.start)))
    assert (grammar(told), told.mixed) == (Grammar(start, CALLS.rules), True)


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"output": JSON}, "output"),
        ({"output": JSON, "tools": (ADD,)}, "output"),
        ({"tools": (STRICT,)}, "tools"),
        ({"tools": (ADD,), "tool_choice": ToolChoice("required")}, "tool_choice"),
    ],
)
def test_without_the_plugin_it_is_refused_by_name(fields, param):
    with pytest.raises(BadRequest, match="enable one that does, such as the plugin structured") as caught:
        shape(kinds=(), **fields)
    assert caught.value.param == param


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"output": JSON, "tools": (ADD,)}, "output"),
        ({"tools": (STRICT,)}, "tools"),
        ({"tools": (ADD,), "tool_choice": ToolChoice("one", "add")}, "tool_choice"),
    ],
)
@pytest.mark.parametrize("markup", [None, ToolFormat(name="t", openers=("<",), parser=never)])
def test_calls_without_a_grammar_are_refused_by_name(markup, fields, param):
    with pytest.raises(BadRequest) as caught:
        shape(markup=markup, **fields)
    assert caught.value.param == param


def test_a_tool_that_cannot_be_held_is_the_fault_of_tools():
    def refuse(*_):
        raise BadRequest("add: no")

    with pytest.raises(BadRequest, match="add: no") as caught:
        shape(
            markup=ToolFormat(name="t", openers=(), parser=never, grammar=refuse),
            tools=(ADD,),
            tool_choice=ToolChoice("required"),
        )
    assert caught.value.param == "tools"
