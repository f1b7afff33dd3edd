"""The grammar of Qwen 3.5's calls, with the schemas of the tools in it."""

from mlxp_core.reading import EQUALS_TAGS, Parameter, call_as_json, call_grammar, callable_now, parameters
from mlxp_core.types import (
    Chain,
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

BEGIN, END = "<tool_call>", "</tool_call>"

_ENDS = (EQUALS_TAGS.parameter_end, EQUALS_TAGS.call_end, EQUALS_TAGS.next_parameter, END)
_UNFIT = frozenset("<>\n\"'")


def grammar(tools: tuple[ToolSpec, ...], choice: ToolChoice) -> Grammar:
    """Return the grammar of calls: ``<function=NAME>`` elements, or JSON where a schema is more than a list.

    Raises:
        BadRequest: a tool's schema cannot be met in this markup.
    """
    return call_grammar([_call(tool) for tool in callable_now(tools, choice)], choice, between="\n")


def _call(tool: ToolSpec) -> Piece:
    listed = parameters(tool)
    if listed is None or any(not _fits(name) for name in (tool.name, *(each.name for each in listed))):
        return Chain((Marker(BEGIN), Written("\n"), call_as_json(tool), Written("\n"), Marker(END)))
    elements = tuple(element if each.required else optional(element) for each, element in _elements(listed))
    head, tail = Written(f"\n<function={tool.name}>\n"), Written("</function>\n")
    return Chain((Marker(BEGIN), head, *elements, tail, Marker(END)))


def _elements(listed: tuple[Parameter, ...]) -> list[tuple[Parameter, Piece]]:
    return [
        (each, Chain((Written(f"<parameter={each.name}>\n"), _value(each), Written("\n</parameter>\n"))))
        for each in listed
    ]


def _value(parameter: Parameter) -> Piece:
    match parameter.kind:
        case "text":
            return Words(parameter.schema, _ENDS)
        case "scalar":
            return JsonValue(parameter.schema)
        case _:
            return JsonValue(parameter.schema, _ENDS)


def _fits(name: str) -> bool:
    """Say whether a tag can carry this name."""
    return name == name.strip() and bool(name) and not _UNFIT & frozenset(name)
