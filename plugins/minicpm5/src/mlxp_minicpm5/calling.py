"""The grammar of MiniCPM5's calls, with the schemas of the tools in it."""

import json
from collections.abc import Mapping
from typing import Any

from mlxp_core.reading import Parameter, call_as_json, call_grammar, callable_now, parameters
from mlxp_core.types import (
    Chain,
    Either,
    Grammar,
    JsonValue,
    Marker,
    Piece,
    ToolChoice,
    ToolSpec,
    Words,
    Written,
    optional,
)

_BEGIN, _END = Marker("<function"), Marker("</function>")
_VALUE_END = Marker("</param>")
_PLAIN, _CDATA = ("<", "&", "\n"), ("]]>",)
_UNFIT = frozenset("<>\n\"'&")


def grammar(tools: tuple[ToolSpec, ...], choice: ToolChoice) -> Grammar:
    """Return the grammar of calls: ``<function>`` elements, or JSON where a schema is more than a list.

    Raises:
        BadRequest: a tool's schema cannot be met in this markup.
    """
    return call_grammar([_call(tool) for tool in callable_now(tools, choice)], choice, between="\n")


def _call(tool: ToolSpec) -> Piece:
    listed = parameters(tool)
    if listed is None or any(not _fits(name) for name in (tool.name, *(each.name for each in listed))):
        return Chain(
            (Marker("<tool_call>"), Written("\n"), call_as_json(tool), Written("\n"), Marker("</tool_call>"))
        )
    elements = tuple(_element(each) if each.required else optional(_element(each)) for each in listed)
    return Chain((_BEGIN, Written(f' name="{tool.name}">'), *elements, _END))


def _element(parameter: Parameter) -> Piece:
    """Return a parameter: as it stands, or in CDATA where it holds what would be markup."""
    head = (Marker("<param"), Written(f' name="{parameter.name}">'))
    if parameter.kind == "scalar":
        return Chain((*head, JsonValue(parameter.schema), _VALUE_END))
    plain, wrapped = (
        (Words(parameter.schema, _PLAIN), Words(parameter.schema, _CDATA))
        if parameter.kind == "text"
        else (JsonValue(parameter.schema, _PLAIN[:2]), JsonValue(parameter.schema, _CDATA))
    )
    section = Chain((Written("<![CDATA["), wrapped, Written("]]>"), _VALUE_END))
    if _holds_markup(parameter.schema):
        return Chain((*head, section))
    return Chain((*head, Either((Chain((plain, _VALUE_END)), section))))


def _holds_markup(schema: Any) -> bool:
    """Say whether a value that the schema spells out, or a pattern, has what would be markup."""
    match schema:
        case Mapping():
            spelled = [schema[key] for key in ("enum", "const", "pattern") if key in schema]
            told = json.dumps(spelled, ensure_ascii=False)
            return any(mark in told for mark in (*_PLAIN, "\\n")) or any(map(_holds_markup, schema.values()))
        case list() | tuple():
            return any(map(_holds_markup, schema))
        case _:
            return False


def _fits(name: str) -> bool:
    """Say whether a tag can carry this name."""
    return name == name.strip() and bool(name) and not _UNFIT & frozenset(name)
