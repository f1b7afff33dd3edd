"""What a family needs to write the grammar of its calls: a tool's parameters, and calls one after the other."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from mlxp_core.errors import BadRequest
from mlxp_core.reading.schema import is_text, parameter_types
from mlxp_core.types import Chain, Either, Grammar, JsonValue, Piece, Repeat, ToolChoice, ToolSpec, Written

MOST_CALLS = 32
"""Of one answer, so that a model that knows no end comes to one."""

_PLAIN = frozenset({"type", "properties", "required", "additionalProperties", "$defs", "definitions"})
_SAID = frozenset({"title", "description", "default", "examples", "$schema", "$id", "$comment", "strict"})
_SCALARS = frozenset({"integer", "number", "boolean", "null"})
_ROOT = "root"


class Parameter(Struct, frozen=True):
    """One parameter of a tool.

    Attributes:
        name: its key.
        schema: what its value has to be; refers to nothing outside itself.
        required: it must not be left out.
        kind: ``text`` is text as it stands, ``scalar`` JSON without strings in it, ``json`` any JSON.
    """

    name: str
    schema: Mapping[str, Any]
    required: bool
    kind: str


def parameters(tool: ToolSpec) -> tuple[Parameter, ...] | None:
    """Return the parameters that a tool lists; ``None`` = its schema says more than a list of them.

    Parameters that a tool does not list are not among them, whether or not it takes others.

    Raises:
        BadRequest: a required parameter can have no value.
    """
    root = tool.parameters
    if not frozenset(root) <= _PLAIN | _SAID or root.get("type", "object") != "object":
        return None
    listed, required = root.get("properties") or {}, root.get("required") or ()
    if not isinstance(listed, Mapping) or not isinstance(required, list | tuple):
        return None
    every = {**listed, **{name: {} for name in required if name not in listed}}
    impossible = next((name for name, schema in every.items() if schema is False and name in required), None)
    if impossible is not None:
        raise BadRequest(f"tool {tool.name!r}: the required parameter {impossible!r} can have no value")
    return tuple(
        Parameter(name, self_contained(schema, root), name in required, _kind(tool, name))
        for name, schema in every.items()
        if schema is not False
    )


def self_contained(schema: Any, root: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a part of the schema ``root`` that means the same by itself."""
    part: Mapping[str, Any] = schema if isinstance(schema, Mapping) else {}
    if not _refers(part):
        return part
    return {**_rebased(part), "$defs": {_ROOT: _rebased(root)}}


def callable_now(tools: tuple[ToolSpec, ...], choice: ToolChoice) -> tuple[ToolSpec, ...]:
    """Return the tools that may be called."""
    return tuple(tool for tool in tools if choice.mode != "one" or tool.name == choice.name)


def call_grammar(
    options: list[Piece], choice: ToolChoice, *, between: str = "", rules: Mapping[str, Piece] | None = None
) -> Grammar:
    """Return the grammar of one call or, where several are wanted, more.

    Args:
        options: a call of each tool.
        choice: whether several are wanted.
        between: what stands between two calls.
        rules: those that the calls name.
    """
    call = options[0] if len(options) == 1 else Either(tuple(options))
    further = Chain((Written(between), call)) if between else call
    most = MOST_CALLS - 1 if choice.parallel else 0
    return Grammar(Chain((call, Repeat(further, 0, most))) if most else call, rules or {})


def call_as_json(tool: ToolSpec) -> Piece:
    """Return a call as one JSON object with its name and its arguments."""
    return JsonValue(
        {
            "type": "object",
            "properties": {"name": {"const": tool.name}, "arguments": {"$ref": f"#/$defs/{_ROOT}"}},
            "required": ["name", "arguments"],
            "additionalProperties": False,
            "$defs": {_ROOT: _rebased(arguments_schema(tool))},
        }
    )


def arguments_schema(tool: ToolSpec) -> Mapping[str, Any]:
    """Return the schema of a tool's arguments, which are an object."""
    return tool.parameters if "type" in tool.parameters else {**tool.parameters, "type": "object"}


def _kind(tool: ToolSpec, name: str) -> str:
    types = parameter_types(tool, name)
    if is_text(types):
        return "text"
    return "scalar" if types is not None and types <= _SCALARS else "json"


def _refers(part: Any) -> bool:
    match part:
        case Mapping():
            return "$ref" in part or any(_refers(each) for each in part.values())
        case list() | tuple():
            return any(_refers(each) for each in part)
        case _:
            return False


def _rebased(part: Any) -> Any:
    """Return a part whose references lead into what is now one of its definitions."""
    match part:
        case Mapping():
            return {key: _reference(each) if key == "$ref" else _rebased(each) for key, each in part.items()}
        case list() | tuple():
            return [_rebased(each) for each in part]
        case _:
            return part


def _reference(target: Any) -> Any:
    inner = isinstance(target, str) and target.startswith("#")
    return f"#/$defs/{_ROOT}{target[1:]}" if inner else target
