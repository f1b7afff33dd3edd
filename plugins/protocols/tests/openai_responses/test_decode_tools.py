import pytest

from mlxp_core.errors import BadRequest
from mlxp_core.types import ToolChoice, ToolSpec

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}


def tool(name):
    return {"type": "function", "name": name, "parameters": None, "strict": None}


def choose(decode, choice, *names, **body):
    request = decode(tools=[tool(name) for name in names], tool_choice=choice, **body).request
    return request.tool_choice, tuple(offered.name for offered in request.tools)


def fault(decode, **body):
    with pytest.raises(BadRequest) as caught:
        decode(**body)
    assert caught.value.param in caught.value.message
    return caught.value.param


def test_a_function_becomes_a_spec(decode):
    full = {
        "type": "function",
        "name": "weather",
        "description": "Ask",
        "parameters": SCHEMA,
        "strict": True,
        "defer_loading": False,
        "output_schema": {},
        "async": False,
    }
    decoded = decode(tools=[full, {"type": "function", "name": "bare"}])
    assert decoded.request.tools == (ToolSpec("weather", "Ask", SCHEMA, strict=True), ToolSpec("bare"))
    assert decoded.request.tool_choice == ToolChoice()
    assert decoded.warnings == ()


def test_a_custom_tool_is_a_function_with_one_string(decode):
    plain = {"type": "custom", "name": "note", "description": "Write", "format": {"type": "text"}}
    grammar = {"type": "grammar", "syntax": "lark", "definition": "start: WORD"}
    note, patch = decode(tools=[plain, {"type": "custom", "name": "patch", "format": grammar}]).request.tools
    assert (note.name, note.description, note.parameters["required"]) == ("note", "Write", ["input"])
    told = patch.parameters["properties"]["input"]
    assert told["type"] == "string"
    assert "lark" in told["description"]
    assert "start: WORD" in told["description"]


def test_tools_of_a_namespace_are_offered_under_joined_names(decode):
    group = {"type": "namespace", "name": "mcp__files__", "description": "d", "tools": [tool("read")]}
    request = decode(tools=[group, tool("read")]).request
    assert [spec.name for spec in request.tools] == ["mcp__files__read", "read"]


@pytest.mark.parametrize(
    "kind",
    ["web_search", "local_shell", "mcp", "code_interpreter", "apply_patch", "tool_search", "next_year"],
)
def test_tools_that_cannot_run_here_are_passed_over_with_a_warning(decode, kind):
    decoded = decode(tools=[tool("a"), {"type": kind, "anything": 1}])
    assert [spec.name for spec in decoded.request.tools] == ["a"]
    assert decoded.warnings == (f"tools[1] ({kind})",)


@pytest.mark.parametrize("mode", ["none", "auto", "required"])
def test_modes_are_passed_on(decode, mode):
    assert choose(decode, mode, "a", "b") == (ToolChoice(mode), ("a", "b"))


def test_a_named_tool_is_the_one(decode):
    assert choose(decode, {"type": "function", "name": "b"}, "a", "b") == (ToolChoice("one", "b"), ("a", "b"))
    custom = {"type": "custom", "name": "patch"}
    assert decode(tools=[custom], tool_choice=custom).request.tool_choice == ToolChoice("one", "patch")
    group = {"type": "namespace", "name": "s", "tools": [tool("read")]}
    named = {"type": "function", "name": "read", "namespace": "s"}
    assert decode(tools=[group], tool_choice=named).request.tool_choice == ToolChoice("one", "s__read")


@pytest.mark.parametrize("mode", ["auto", "required"])
def test_allowed_tools_withhold_the_others(decode, mode):
    tools = [{"type": "function", "name": "c"}, {"type": "web_search"}, {"type": "function", "name": "a"}]
    allowed = {"type": "allowed_tools", "mode": mode, "tools": tools}
    assert choose(decode, allowed, "a", "b", "c") == (ToolChoice(mode), ("a", "c"))


def test_parallel_calls_can_be_switched_off(decode):
    assert choose(decode, "auto", "a", parallel_tool_calls=False)[0] == ToolChoice(parallel=False)
    assert choose(decode, None, "a", parallel_tool_calls=None)[0] == ToolChoice()


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"tool_choice": "required"}, "tool_choice"),
        ({"tool_choice": "required", "tools": [{"type": "web_search"}]}, "tool_choice"),
        ({"tool_choice": "always"}, "tool_choice"),
        ({"tool_choice": 3}, "tool_choice"),
        ({"tool_choice": {"type": "web_search_preview"}}, "tool_choice"),
        ({"tool_choice": {"type": "function"}}, "tool_choice"),
        ({"tool_choice": {"type": "allowed_tools", "tools": []}}, "tool_choice"),
        ({"tools": [tool("a")], "tool_choice": {"type": "function", "name": "b"}}, "tool_choice.name"),
        (
            {"tool_choice": {"type": "allowed_tools", "mode": "auto", "tools": [tool("b")]}},
            "tool_choice.tools",
        ),
        ({"tools": [tool("a"), tool("a")]}, "tools[1]"),
        ({"tools": [tool("")]}, "tools[0].name"),
        ({"tools": [{"type": "function", "function": {"name": "nested"}}]}, "tools[0].name"),
        (
            {"tools": [{"type": "namespace", "name": "s", "tools": [{"type": "custom"}]}]},
            "tools[0].tools[0].name",
        ),
        ({"tools": ["x"]}, "tools[0]"),
        ({"tools": {}}, "tools"),
    ],
)
def test_impossible_tools_name_their_place(decode, body, param):
    assert fault(decode, **body) == param
