"""Whether a JSON schema is one: keywords have values of the kind that they need, all the way down."""

from collections.abc import Callable, Mapping
from typing import Any

from mlxp_core.errors import BadRequest

_DEEPEST = 100
_SCHEMAS = ("items", "additionalProperties", "additionalItems", "not", "if", "then", "else", "contains")
_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
_TABLES = ("properties", "patternProperties", "$defs", "definitions")
_COUNTS = ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties")
_NUMBERS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
_TEXTS = ("pattern", "format", "$ref")


def check_schema(schema: Any, place: str = "the schema") -> None:
    """Refuse what is no JSON schema. Keywords that nobody knows may hold anything.

    Args:
        schema: what a client sent, as plain JSON values.
        place: what to call it.

    Raises:
        BadRequest: names the keyword at fault, and where it stands.
    """
    _check(schema, place, _DEEPEST)


def _check(schema: Any, place: str, depth: int) -> None:
    if isinstance(schema, bool):
        return
    _need(isinstance(schema, Mapping), place, "an object or a boolean")
    _need(depth > 0, place, f"nested no deeper than {_DEEPEST} schemas")
    _check_values(schema, place)
    for keyword in _SCHEMAS:
        if keyword in schema and not (keyword == "items" and isinstance(schema[keyword], list | tuple)):
            _check(schema[keyword], f"{place}.{keyword}", depth - 1)
    for keyword in (*_LISTS, "items"):
        if isinstance(schema.get(keyword), list | tuple):
            for number, inner in enumerate(schema[keyword]):
                _check(inner, f"{place}.{keyword}[{number}]", depth - 1)
    for keyword in _TABLES:
        for name, inner in (schema.get(keyword) or {}).items():
            _check(inner, f"{place}.{keyword}.{name}", depth - 1)


def _check_values(schema: Mapping[str, Any], place: str) -> None:
    def need(keywords: tuple[str, ...], holds: Callable[[Any], bool], what: str) -> None:
        for keyword in keywords:
            if keyword in schema:
                _need(holds(schema[keyword]), f"{place}.{keyword}", what)

    need(_TEXTS, lambda value: isinstance(value, str), "a string")
    need(_COUNTS, _is_count, "a number of things")
    need(_NUMBERS, _is_number, "a number")
    need(("multipleOf",), lambda value: value > 0, "more than 0")
    need(_TABLES, lambda value: isinstance(value, Mapping), "an object")
    need(_LISTS, lambda value: isinstance(value, list | tuple) and bool(value), "a list that is not empty")
    need(("enum",), lambda value: isinstance(value, list | tuple) and bool(value), "a list that is not empty")
    need(("required",), _is_texts, "a list of strings")
    need(
        ("type",),
        lambda value: isinstance(value, str) or (_is_texts(value) and bool(value)),
        "a type or types",
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_count(value: Any) -> bool:
    return _is_number(value) and value >= 0 and value == int(value)


def _is_texts(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(each, str) for each in value)


def _need(holds: bool, place: str, what: str) -> None:
    if not holds:
        raise BadRequest(f"{place} must be {what}")
