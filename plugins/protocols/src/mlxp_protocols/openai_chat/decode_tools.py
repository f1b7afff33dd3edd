"""Tools of a chat request, and which of them may or must be called."""

from typing import Literal

from mlxp_core.errors import BadRequest
from mlxp_core.types import ToolChoice, ToolSpec
from mlxp_protocols.openai_chat import wire


def read_tools(body: wire.ChatRequest) -> tuple[tuple[ToolSpec, ...], ToolChoice]:
    """Return the tools on offer and the choice among them; ``allowed_tools`` withholds all others.

    Raises:
        BadRequest: a tool that is no function, or a choice that the tools cannot meet.
    """
    tools = tuple(_tool(tool, f"tools[{at}]") for at, tool in enumerate(body.tools or ()))
    parallel = body.parallel_tool_calls is not False
    match body.tool_choice:
        case None:
            return tools, ToolChoice(parallel=parallel)
        case "none" | "auto" | "required" as mode:
            return tools, _free_choice(mode, tools, parallel)
        case wire.ToolChoice(type="function", function=wire.NamedFunction(name=name)):
            _require({name}, tools, "tool_choice.function.name")
            return tools, ToolChoice("one", name, parallel)
        case wire.ToolChoice(type="allowed_tools", allowed_tools=wire.AllowedTools() as allowed):
            names = {tool.function.name for tool in allowed.tools}
            _require(names, tools, "tool_choice.allowed_tools.tools")
            tools = tuple(tool for tool in tools if tool.name in names)
            return tools, _free_choice(allowed.mode, tools, parallel)
        case wire.ToolChoice(type=kind):
            raise BadRequest(
                f"tool_choice: an object of type {kind!r} is not supported, or lacks its part; "
                'send {"type": "function", "function": {"name": ...}} or {"type": "allowed_tools", '
                '"allowed_tools": {"mode": ..., "tools": [...]}}',
                param="tool_choice",
            )


def _free_choice(
    mode: Literal["none", "auto", "required"], tools: tuple[ToolSpec, ...], parallel: bool
) -> ToolChoice:
    if mode == "required" and not tools:
        raise BadRequest("tool_choice: 'required' needs a tool to call; send tools", param="tool_choice")
    return ToolChoice(mode, parallel=parallel)


def _require(names: set[str], tools: tuple[ToolSpec, ...], place: str) -> None:
    offered = {tool.name for tool in tools}
    if missing := sorted(names - offered):
        raise BadRequest(
            f"{place}: {', '.join(missing)} is not among the tools; offered: {', '.join(sorted(offered)) or 'none'}",
            param=place,
        )


def _tool(tool: wire.Tool, place: str) -> ToolSpec:
    if tool.function is None or tool.type not in {None, "function"}:
        kind = tool.type or "function"
        raise BadRequest(
            f"{place}: a tool of type {kind!r} is not supported, or lacks its function; "
            'send {"type": "function", "function": {"name": ...}}',
            param=place,
        )
    function = tool.function
    return ToolSpec(
        name=function.name,
        description=function.description or "",
        parameters=function.parameters or {},
        strict=bool(function.strict),
    )
