import pytest

from mlxp_core.errors import BadRequest
from mlxp_core.types import ToolChoice, ToolSpec


def tool(name):
    return {"type": "function", "function": {"name": name}}


def choose(decode, choice, *names, **body):
    request = decode(tools=[tool(name) for name in names], tool_choice=choice, **body).request
    return request.tool_choice, tuple(offered.name for offered in request.tools)


def test_a_function_becomes_a_spec(decode):
    schema = {"type": "object", "properties": {"city": {"type": "string"}}}
    full = {"name": "weather", "description": "Ask", "parameters": schema, "strict": True}
    request = decode(tools=[{"type": "function", "function": full}, tool("bare")]).request
    assert request.tools == (ToolSpec("weather", "Ask", schema, strict=True), ToolSpec("bare"))
    assert request.tool_choice == ToolChoice()


@pytest.mark.parametrize("mode", ["none", "auto", "required"])
def test_modes_are_passed_on(decode, mode):
    assert choose(decode, mode, "a", "b") == (ToolChoice(mode), ("a", "b"))


def test_a_named_function_is_the_one(decode):
    named = {"type": "function", "function": {"name": "b"}}
    assert choose(decode, named, "a", "b") == (ToolChoice("one", "b"), ("a", "b"))


@pytest.mark.parametrize("mode", ["auto", "required"])
def test_allowed_tools_withhold_the_others(decode, mode):
    allowed = {"type": "allowed_tools", "allowed_tools": {"mode": mode, "tools": [tool("c"), tool("a")]}}
    assert choose(decode, allowed, "a", "b", "c") == (ToolChoice(mode), ("a", "c"))


def test_parallel_calls_can_be_switched_off(decode):
    assert choose(decode, "auto", "a", parallel_tool_calls=False)[0] == ToolChoice(parallel=False)
    assert choose(decode, None, "a", parallel_tool_calls=None)[0] == ToolChoice()


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"tool_choice": "required"}, "tool_choice"),
        ({"tool_choice": "always"}, "tool_choice"),
        ({"tool_choice": {"type": "custom", "custom": {"name": "x"}}}, "tool_choice"),
        ({"tool_choice": {"type": "function"}}, "tool_choice"),
        (
            {"tools": [tool("a")], "tool_choice": {"type": "function", "function": {"name": "b"}}},
            "tool_choice.function.name",
        ),
        (
            {
                "tool_choice": {
                    "type": "allowed_tools",
                    "allowed_tools": {"mode": "auto", "tools": [tool("b")]},
                }
            },
            "tool_choice.allowed_tools.tools",
        ),
        ({"tools": [{"type": "custom", "custom": {"name": "x"}}]}, "tools[0]"),
        ({"tools": [tool("a"), {"type": "web_search"}]}, "tools[1]"),
        ({"tools": [tool("")]}, "tools[0].function.name"),
        ({"tools": [{"type": "function", "function": {}}]}, "tools[0].function.name"),
    ],
)
def test_impossible_tools_name_their_place(decode, body, param):
    with pytest.raises(BadRequest) as caught:
        decode(**body)
    assert caught.value.param == param
    assert param in caught.value.message
