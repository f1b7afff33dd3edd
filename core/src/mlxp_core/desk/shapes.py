"""The shape an answer must have, after all that a request asks for: its own shape, forced calls, strict tools."""

from collections.abc import Collection

from msgspec import Raw

from mlxp_core.contracts import ToolFormat
from mlxp_core.errors import BadRequest
from mlxp_core.reading import check_schema
from mlxp_core.types import (
    Chain,
    Either,
    GenerateRequest,
    Grammar,
    OutputShape,
    Shaped,
    Words,
    optional,
)

TEXT = OutputShape()


def shape_of(request: GenerateRequest, tools: ToolFormat | None, kinds: Collection[str]) -> OutputShape:
    """Return the shape of the answer.

    1. A call that is forced is all of the answer.
    2. Where tools may be called and the answer has a shape, it is calls or what has the shape.
    3. Where tools may be called and one is strict, it is text with calls behind it, each with arguments that its
       tool's schema accepts.

    Args:
        request: what is asked.
        tools: the tool format of the model's family, where it has one.
        kinds: the kinds of shapes that plugins hold answers to.

    Raises:
        BadRequest: the model or the plugins cannot do that; names the field.
    """
    field, shape = "output", request.output
    mode = request.tool_choice.mode
    if mode in {"required", "one"}:
        field, shape = "tool_choice", _calls(request, tools, "tool_choice").shape()
    elif request.tools and mode == "auto" and shape.kind != TEXT.kind:
        calls = _calls(request, tools, "output")
        other = Shaped(shape.kind, shape.body or Raw(b"null"))
        shape = Grammar(Either((calls.start, other)), calls.rules).shape()
    elif mode == "auto" and any(tool.strict for tool in request.tools):
        field, calls = "tools", _calls(request, tools, "tools")
        before = Words(without=() if tools is None else tools.openers)
        shape = Grammar(Chain((before, optional(calls.start))), calls.rules).shape(mixed=True)
    if shape.kind not in {TEXT.kind, *kinds}:
        there = ", ".join(sorted(kinds)) or "none"
        raise BadRequest(
            f"no plugin holds an answer to a shape of kind {shape.kind!r}; there are: {there}; "
            "install or enable one that does, such as the plugin structured",
            param=field,
        )
    return shape


def _calls(request: GenerateRequest, tools: ToolFormat | None, field: str) -> Grammar:
    """Return the grammar of one or more calls.

    Raises:
        BadRequest: the model's calls cannot be held to a grammar, or not to that of these tools.
    """
    if tools is None or tools.grammar is None:
        told = {
            "tool_choice": "this model cannot be made to call a tool; use tool_choice auto or none",
            "tools": "this model's calls cannot be held to strict tools; leave strict out",
            "output": "this model's calls cannot stand beside a shape; leave tools or the shape out",
        }
        raise BadRequest(told[field], param=field)
    try:
        for tool in request.tools:
            check_schema(tool.parameters, f"the schema of the tool {tool.name!r}")
        return tools.grammar(request.tools, request.tool_choice)
    except BadRequest as error:
        raise BadRequest(error.message, param="tools") from error
