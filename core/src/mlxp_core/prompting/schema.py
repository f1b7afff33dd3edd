"""Give every node of a tool's JSON schema one type name, because templates print it and fail without."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import NoneType
from typing import Any

Schema = Mapping[str, Any]

_MAPS = ("properties", "patternProperties", "$defs", "definitions")
_LISTS = ("prefixItems", "anyOf", "oneOf", "allOf")
_NODES = ("items", "additionalProperties")
_CHOICES = ("anyOf", "oneOf", "allOf")
_TYPES: dict[type, str] = {
    NoneType: "null",
    bool: "boolean",
    int: "integer",
    str: "string",
    dict: "object",
    list: "array",
    tuple: "array",
}


def typed_schema(schema: Schema) -> dict[str, Any]:
    """Return a copy in which every node has a string ``type``, and ``nullable`` where null is one of its types.

    A type is taken, in this order, from: ``type`` (of several names the first that is not ``null``), the first
    ``enum`` value, ``const``, the presence of ``properties`` or ``items``, the members of ``anyOf``, ``oneOf`` and
    ``allOf``, the target of a local ``$ref``; at last it is ``string``. The root is an ``object`` unless it says
    otherwise.

    Raises:
        RecursionError: when the schema is nested more deeply than the interpreter can follow.
    """
    root = schema or {"type": "object", "properties": {}}
    typed: dict[str, Any] = _typed(root, root)
    return typed if _names(root, root, ()) else {**typed, "type": "object"}


def _typed(node: Any, root: Schema) -> Any:
    if not isinstance(node, Mapping):
        return node  # true and false are schemas too, and need no type
    out = {str(key): _inside(key, value, root) for key, value in node.items()}
    names = _names(node, root, ())
    out["type"] = next((name for name in names if name != "null"), names[0] if names else "string")
    if "null" in names and out["type"] != "null":
        out.setdefault("nullable", True)
    return out


def _inside(key: str, value: Any, root: Schema) -> Any:
    """Return the value of one keyword, its schemas typed."""
    if key in _MAPS and isinstance(value, Mapping):
        return {str(name): _typed(node, root) for name, node in value.items()}
    if key in _LISTS and isinstance(value, Sequence) and not isinstance(value, str):
        return [_typed(node, root) for node in value]
    if key in _NODES:
        if isinstance(value, Sequence) and not isinstance(value, str):
            return [_typed(node, root) for node in value]
        return _typed(value, root)
    return value


def _names(node: Schema, root: Schema, seen: tuple[str, ...]) -> list[str]:
    """Return the type names that a node allows, as far as can be told."""
    declared = node.get("type")
    if isinstance(declared, str):
        return [declared]
    if isinstance(declared, Sequence):
        names = [name for name in declared if isinstance(name, str)]
        if names:
            return names
    inferred = _infer(node, root, seen)
    return inferred if inferred is not None else []


def _infer(node: Schema, root: Schema, seen: tuple[str, ...]) -> list[str] | None:
    values = node.get("enum")
    if isinstance(values, Sequence) and not isinstance(values, str) and values:
        return list(dict.fromkeys(_type_of(value) for value in values))
    if "const" in node:
        return [_type_of(node["const"])]
    if "properties" in node or "additionalProperties" in node:
        return ["object"]
    if "items" in node or "prefixItems" in node:
        return ["array"]
    for key in _CHOICES:
        members = node.get(key)
        if isinstance(members, Sequence) and not isinstance(members, str):
            names = [
                name
                for member in members
                if isinstance(member, Mapping)
                for name in _names(member, root, seen)
            ]
            if names:
                return list(dict.fromkeys(names))
    return _referred(node.get("$ref"), root, seen)


def _referred(reference: Any, root: Schema, seen: tuple[str, ...]) -> list[str] | None:
    """Return the type names of the target of a local reference such as ``#/$defs/Point``."""
    if not isinstance(reference, str) or not reference.startswith("#/") or reference in seen:
        return None
    target: Any = root
    for step in reference[2:].split("/"):
        key = step.replace("~1", "/").replace("~0", "~")
        target = target.get(key) if isinstance(target, Mapping) else None
    return _names(target, root, (*seen, reference)) if isinstance(target, Mapping) else None


def _type_of(value: Any) -> str:
    if isinstance(value, float):
        return "integer" if value.is_integer() else "number"
    return _TYPES.get(type(value), "string")
