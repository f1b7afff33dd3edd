"""Which JSON types a tool's schema permits for a parameter."""

from collections.abc import Mapping
from typing import Any

from mlxp_core.types import ToolSpec

Types = frozenset[str] | None
"""Names of JSON types as in JSON schema; ``None`` = anything."""

_DEEPEST = 16  # of references that lead to references
_FITS: dict[type, frozenset[str]] = {
    type(None): frozenset({"null"}),
    bool: frozenset({"boolean"}),
    int: frozenset({"integer", "number"}),
    float: frozenset({"number"}),
    str: frozenset({"string"}),
    list: frozenset({"array"}),
    dict: frozenset({"object"}),
}
_TEXT = frozenset({"string", "null"})


def parameter_types(tool: ToolSpec, name: str) -> Types:
    """Return the types that ``tool`` permits for its parameter ``name``; ``None`` where the schema does not say."""
    properties = tool.parameters.get("properties")
    schema = properties.get(name) if isinstance(properties, Mapping) else None
    return _types(schema, tool.parameters, _DEEPEST)


def is_text(types: Types) -> bool:
    """Say whether a value of these types is text as it stands, never to be read as a number or the like."""
    return types is not None and "string" in types and types <= _TEXT


def types_of(value: Any) -> frozenset[str]:
    """Return the schema types that fit a decoded JSON value."""
    if isinstance(value, float) and value.is_integer():
        return _FITS[int]
    return _FITS[type(value)]


def _types(schema: Any, root: Mapping[str, Any], depth: int) -> Types:
    if not isinstance(schema, Mapping) or depth == 0:
        return None
    found = _stated(schema, root, depth)
    if found is not None and schema.get("nullable") is True:
        return found | {"null"}
    return found


def _stated(schema: Mapping[str, Any], root: Mapping[str, Any], depth: int) -> Types:
    """Return what the first telling keyword of ``schema`` says."""
    found: Types = None
    match schema:
        case {"type": str(kind)}:
            found = frozenset({kind.lower()})
        case {"type": [*kinds]}:
            found = frozenset(str(kind).lower() for kind in kinds)
        case {"enum": [*values]}:
            found = frozenset().union(*map(types_of, values))
        case {"const": value}:
            found = types_of(value)
        case {"anyOf": [*choices]} | {"oneOf": [*choices]}:
            found = _union([_types(choice, root, depth - 1) for choice in choices])
        case {"allOf": [*parts]}:
            known = [part for part in (_types(part, root, depth - 1) for part in parts) if part is not None]
            found = frozenset.intersection(*known) if known else None
        case {"$ref": str(reference)} if reference.startswith("#/"):
            found = _types(_resolve(reference, root), root, depth - 1)
        case _:
            pass
    return found


def _union(choices: list[Types]) -> Types:
    known = [choice for choice in choices if choice is not None]
    return frozenset().union(*known) if known and len(known) == len(choices) else None


def _resolve(reference: str, root: Mapping[str, Any]) -> Any:
    """Follow a JSON pointer within the schema; ``None`` where it leads nowhere."""
    place: Any = root
    for step in reference[2:].split("/"):
        place = place.get(step.replace("~1", "/").replace("~0", "~")) if isinstance(place, Mapping) else None
    return place
