"""Tools of a request, and which of them may or must be called."""

from collections.abc import Sequence

from mlxp_core.errors import BadRequest
from mlxp_core.types import ToolChoice, ToolSpec
from mlxp_protocols.anthropic_messages import wire


def read_tools(
    offered: Sequence[wire.Tool] | None, choice: wire.ToolChoice | None
) -> tuple[tuple[ToolSpec, ...], ToolChoice, tuple[str, ...]]:
    """Return the tools on offer, the choice among them, and which tools were left out.

    Tools without a schema are run by the provider's servers, or are part of what its models learned: they cannot be
    offered to other models.

    Raises:
        BadRequest: a tool of the client's own that lacks its name or its schema, or an impossible choice.
    """
    tools: list[ToolSpec] = []
    left_out: list[str] = []
    for at, tool in enumerate(offered or ()):
        if tool.input_schema is None and tool.type not in {None, "custom"}:
            left_out.append(f"tools[{at}] ({tool.type})")
        else:
            tools.append(_tool(tool, f"tools[{at}]"))
    return tuple(tools), _choice(choice, [tool.name for tool in tools]), tuple(left_out)


def _tool(tool: wire.Tool, place: str) -> ToolSpec:
    if tool.name is None or tool.input_schema is None:
        lacking = "name" if tool.name is None else "input_schema"
        raise BadRequest(
            f'{place}.{lacking}: is missing; send {{"name": ..., "input_schema": {{"type": "object", ...}}}}',
            param=f"{place}.{lacking}",
        )
    return ToolSpec(
        name=tool.name,
        description=tool.description or "",
        parameters=tool.input_schema,
        strict=bool(tool.strict),
    )


def _choice(choice: wire.ToolChoice | None, names: Sequence[str]) -> ToolChoice:
    if choice is None:
        return ToolChoice()
    parallel = not choice.disable_parallel_tool_use
    match choice.type:
        case "auto" | "none" as mode:
            return ToolChoice(mode, parallel=parallel)
        case "any":
            if not names:
                raise BadRequest("tool_choice: any needs a tool to call; send tools", param="tool_choice")
            return ToolChoice("required", parallel=parallel)
        case "tool":
            if choice.name not in names:
                raise BadRequest(
                    f"tool_choice.name: {choice.name!r} is not among the tools; offered: {', '.join(names) or 'none'}",
                    param="tool_choice.name",
                )
            return ToolChoice("one", choice.name, parallel)
