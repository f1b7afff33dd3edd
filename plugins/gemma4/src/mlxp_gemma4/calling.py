"""The grammar of Gemma 4's calls, with the schemas of the tools in it, in Gemma's own notation.

``<|tool_call>call:NAME{key:<|"|>text<|"|>,list:[1,2]}<tool_call|>``: keys stand bare, strings between marks with
nothing escaped, and there is no white space. A part whose schema says more than can be written so is JSON, which the
notation takes as well.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from mlxp_core.errors import BadRequest
from mlxp_core.reading import arguments_schema, call_grammar, callable_now, self_contained, types_of
from mlxp_core.types import (
    Chain,
    Either,
    Grammar,
    JsonValue,
    Marker,
    Named,
    Piece,
    Repeat,
    ToolChoice,
    ToolSpec,
    Words,
    Written,
    optional,
)
from mlxp_gemma4.notation import MARK

BEGIN, END = "<|tool_call>", "<tool_call|>"

_MARK = Marker(MARK)
_BARE = re.compile(r"[^\s:,{}\[\]\"<>]+")
_SAID = frozenset(
    {"title", "description", "default", "examples", "deprecated", "$comment", "$schema", "nullable"}
)
_NUMBERS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
_TEXTS = ("minLength", "maxLength", "pattern", "format", "contentEncoding", "contentMediaType")
_LISTS = ("items", "minItems", "maxItems")
_TABLES = ("properties", "required", "additionalProperties")
_OF_TYPE: Mapping[str, tuple[str, ...]] = {
    "object": _TABLES,
    "array": _LISTS,
    "string": _TEXTS,
    "number": _NUMBERS,
    "integer": _NUMBERS,
    "boolean": (),
    "null": (),
}
_WRITTEN = frozenset({"type", "enum", "const", "anyOf", "$ref", "$defs", "definitions"}).union(
    *_OF_TYPE.values()
)


def grammar(tools: tuple[ToolSpec, ...], choice: ToolChoice) -> Grammar:
    """Return the grammar of calls.

    Raises:
        BadRequest: a tool cannot be named in this markup, or its schema accepts nothing.
    """
    rules: dict[str, Piece] = {}
    return call_grammar([_call(tool, rules) for tool in callable_now(tools, choice)], choice, rules=rules)


def _call(tool: ToolSpec, rules: dict[str, Piece]) -> Piece:
    if not _BARE.fullmatch(tool.name):
        raise BadRequest(f"a tool named {tool.name!r} cannot be called in the markup of this model")
    written = _Notation(arguments_schema(tool), f"{tool.name}/", rules)
    return Chain((Marker(BEGIN), Written(f"call:{tool.name}"), written.whole(), Marker(END)))


class _Notation:
    """Writes the grammar of values; references become rules, so that a schema may hold itself."""

    def __init__(self, root: Mapping[str, Any], prefix: str, rules: dict[str, Piece]) -> None:
        self._root = root
        self._prefix = prefix
        self._rules = rules

    def whole(self) -> Piece:
        return self._value(self._root)

    def _value(self, schema: Any) -> Piece:
        if schema is True or schema == {}:
            return self._anything()
        if not isinstance(schema, Mapping) or not self._writable(schema):
            return JsonValue(self_contained(schema, self._root))
        if "$ref" in schema:
            return self._reference(schema["$ref"])
        if "anyOf" in schema:
            return Either(tuple(self._value(option) for option in schema["anyOf"]))
        kinds = _types(schema)
        if "enum" in schema or "const" in schema:
            return self._literals(schema.get("enum", [schema.get("const")]), kinds)
        return Either(tuple(self._of_type(kind, schema) for kind in kinds)) if kinds else self._anything()

    def _writable(self, schema: Mapping[str, Any]) -> bool:
        """Say whether the notation can be written for it; combinations of keywords are left to JSON."""
        told = frozenset(schema) - _SAID
        if not told <= _WRITTEN:
            return False
        combining = told & {"enum", "const", "anyOf", "$ref"}
        if combining:
            return len(combining) == 1 and (told - {"type", "$defs", "definitions"} == combining)
        closed = not isinstance(schema.get("additionalProperties"), Mapping) or "properties" not in schema
        return closed and all(isinstance(kind, str) and kind in _OF_TYPE for kind in _types(schema))

    def _of_type(self, kind: str, schema: Mapping[str, Any]) -> Piece:
        own = {key: schema[key] for key in _OF_TYPE[kind] if key in schema}
        match kind:
            case "string":
                return self._text({"type": "string", **own})
            case "array":
                return self._array(own)
            case "object":
                return self._object(own)
            case _:
                return JsonValue({"type": kind, **own})

    def _text(self, schema: Mapping[str, Any]) -> Piece:
        return Chain((_MARK, Words(schema, (MARK,)), _MARK))

    def _array(self, schema: Mapping[str, Any]) -> Piece:
        item = self._rule(self._value(schema.get("items", True)))
        least, most = schema.get("minItems", 0), schema.get("maxItems")
        if most is not None and most < least:
            raise BadRequest(f"a schema of a tool wants an array of {least} to {most} items")
        if most == 0:
            return Written("[]")
        further = Repeat(Chain((Written(","), item)), max(least - 1, 0), None if most is None else most - 1)
        some = Chain((item, further))
        return Chain((Written("["), some if least else optional(some), Written("]")))

    def _object(self, schema: Mapping[str, Any]) -> Piece:
        listed, required = schema.get("properties") or {}, schema.get("required") or ()
        every = {**listed, **{name: True for name in required if name not in listed}}
        impossible = [name for name in required if every[name] is False]
        if impossible:
            raise BadRequest(f"a schema of a tool requires {impossible[0]!r} and accepts no value for it")
        if not every and schema.get("additionalProperties", True) is not False:
            return self._table(schema.get("additionalProperties", True))
        members = [
            (self._rule(Chain((_key(name), Written(":"), self._value(value)))), name in required)
            for name, value in every.items()
            if value is not False
        ]
        return Chain((Written("{"), _listed(members), Written("}")))

    def _table(self, value: Any) -> Piece:
        """Return an object with any names."""
        key = Words({"pattern": "^[A-Za-z_][A-Za-z0-9_]*$"})
        member = Chain((key, Written(":"), self._value(value)))
        members = Chain((member, Repeat(Chain((Written(","), member)))))
        return Chain((Written("{"), optional(members), Written("}")))

    def _anything(self) -> Piece:
        if "any" not in self._rules:
            self._rules["any"] = Chain(())  # known before it is complete, as it holds itself
            kinds = ("null", "boolean", "number", "string", "array", "object")
            self._rules["any"] = Either(tuple(self._of_type(kind, {}) for kind in kinds))
        return Named("any")

    def _reference(self, target: str) -> Piece:
        name = self._prefix + target
        if name not in self._rules:
            self._rules[name] = Chain(())
            self._rules[name] = self._value(_followed(target, self._root))
        return Named(name)

    def _rule(self, piece: Piece) -> Piece:
        """Return a name for a piece that stands in several places."""
        name = f"{self._prefix}{len(self._rules)}"
        self._rules[name] = piece
        return Named(name)

    def _literals(self, values: Iterable[Any], kinds: list[Any]) -> Piece:
        fitting = [value for value in values if not kinds or types_of(value) & frozenset(kinds)]
        if not fitting:
            raise BadRequest(f"a schema of a tool accepts none of its own values: {list(values)!r}")
        return Either(tuple(self._literal(value) for value in fitting))

    def _literal(self, value: Any) -> Piece:
        match value:
            case str():
                return self._text({"const": value})
            case list() | tuple():
                return _around("[", [self._literal(each) for each in value], "]")
            case Mapping():
                members = [
                    Chain((_key(name), Written(":"), self._literal(each))) for name, each in value.items()
                ]
                return _around("{", members, "}")
            case _:
                return Written(json.dumps(value))


def _listed(members: list[tuple[Piece, bool]]) -> Piece:
    """Return members in their order, commas between them; those not required may be left out."""
    if not members:
        return Chain(())
    (first, needed), *others = members
    behind = [
        piece if required else optional(piece)
        for piece, required in ((Chain((Written(","), member)), required) for member, required in others)
    ]
    begun = Chain((first, *behind))
    if needed:
        return begun
    return Either((begun, _listed(others))) if others else optional(begun)


def _around(begin: str, parts: Sequence[Piece], end: str) -> Piece:
    between = [piece for part in parts for piece in (Written(","), part)][1:]
    return Chain((Written(begin), *between, Written(end)))


def _key(name: str) -> Piece:
    return Written(name if _BARE.fullmatch(name) else json.dumps(name, ensure_ascii=False))


def _types(schema: Mapping[str, Any]) -> list[Any]:
    """Return the types that a schema permits; where it does not say, those that its keywords are about."""
    match schema.get("type"):
        case None:
            about = [kind for kind, keys in _OF_TYPE.items() if any(key in schema for key in keys)]
            return [kind for kind in about if kind != "integer"]
        case str() as kind:
            return [kind]
        case kinds:
            return list(kinds)


def _followed(target: str, root: Mapping[str, Any]) -> Any:
    place: Any = root
    for step in target.removeprefix("#").split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        place = place.get(name) if isinstance(place, Mapping) else None
    if place is None or not target.startswith("#"):
        raise BadRequest(f"the reference {target!r} in a tool's schema leads to nothing in it")
    return place
