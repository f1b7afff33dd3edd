import pytest

from mlxp_core.errors import BadRequest
from mlxp_core.types import ToolChoice, ToolSpec

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


def tool(name, **more):
    return {"name": name, "input_schema": {"type": "object"}, **more}


def choose(decode, choice, *names):
    return decode(tools=[tool(name) for name in names], tool_choice=choice).request.tool_choice


def test_a_tool_becomes_a_spec_and_whatever_else_is_said_of_it_is_known(decode):
    full = tool(
        "weather",
        type="custom",
        description="Ask",
        input_schema=SCHEMA,
        strict=True,
        cache_control={"type": "ephemeral"},
        eager_input_streaming=True,
        defer_loading=False,
        allowed_callers=["direct"],
        input_examples=[{"city": "Rome"}],
    )
    decoded = decode(tools=[full, tool("bare", description=None, type=None)])
    assert decoded.warnings == ()
    assert decoded.request.tools == (
        ToolSpec("weather", "Ask", SCHEMA, strict=True),
        ToolSpec("bare", "", {"type": "object"}),
    )
    assert decoded.request.tool_choice == ToolChoice()


def test_tools_of_the_provider_are_left_out_with_a_warning(decode):
    search = {"type": "web_search_20250305", "name": "web_search"}
    bash = {"type": "bash_20250124", "name": "bash"}
    toolset = {"type": "mcp_toolset"}
    decoded = decode(tools=[search, tool("mine"), bash, toolset])
    assert [spec.name for spec in decoded.request.tools] == ["mine"]
    assert decoded.warnings == (
        "tools[0] (web_search_20250305)",
        "tools[2] (bash_20250124)",
        "tools[3] (mcp_toolset)",
    )


@pytest.mark.parametrize(
    ("choice", "read"),
    [
        (None, ToolChoice()),
        ({"type": "auto"}, ToolChoice()),
        ({"type": "auto", "disable_parallel_tool_use": True}, ToolChoice(parallel=False)),
        ({"type": "any", "disable_parallel_tool_use": False}, ToolChoice("required")),
        ({"type": "none"}, ToolChoice("none")),
        (
            {"type": "tool", "name": "b", "disable_parallel_tool_use": True},
            ToolChoice("one", "b", parallel=False),
        ),
    ],
)
def test_the_choice_is_passed_on(decode, choice, read):
    assert choose(decode, choice, "a", "b") == read


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"tool_choice": {"type": "any"}}, "tool_choice"),
        (
            {"tool_choice": {"type": "any"}, "tools": [{"type": "bash_20250124", "name": "bash"}]},
            "tool_choice",
        ),
        ({"tool_choice": {"type": "tool", "name": "b"}, "tools": [tool("a")]}, "tool_choice.name"),
        ({"tool_choice": {"type": "tool"}, "tools": [tool("a")]}, "tool_choice.name"),
        ({"tool_choice": {"type": "required"}}, "tool_choice.type"),
        ({"tool_choice": "auto"}, "tool_choice"),
        ({"tools": [tool("a"), {"name": "b"}]}, "tools[1].input_schema"),
        ({"tools": [{"input_schema": {}}]}, "tools[0].name"),
        ({"tools": [tool("")]}, "tools[0].name"),
        ({"tools": [tool("a", input_schema=[])]}, "tools[0].input_schema"),
    ],
)
def test_impossible_tools_name_their_place(decode, body, param):
    with pytest.raises(BadRequest) as caught:
        decode(**body)
    assert caught.value.param == param
    assert param in caught.value.message
