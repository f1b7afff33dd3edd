"""A JSON schema made ready for llguidance: what it cannot take is put in words that it can, or refused by name.

Nothing is accepted that the schema does not accept. Some of what it accepts is left out:

1. A schema without a type, whose keywords are about one, means that type.
2. A format is a pattern (see ``formats``); one that nobody knows says nothing, as the standard has it.
3. Where some text must not occur, strings and names are without it, and objects that list their properties have no
   others.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mlxp_core.errors import BadRequest
from mlxp_core.reading import check_schema
from mlxp_structured.formats import FORMATS
from mlxp_structured.patterns import avoiding

_KEYWORDS = {
    "object": ("properties", "required", "additionalProperties", "patternProperties", "minProperties"),
    "array": ("items", "prefixItems", "minItems", "maxItems", "additionalItems"),
    "string": ("minLength", "maxLength", "pattern", "format"),
    "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
}
_COMBINING = ("$ref", "anyOf", "oneOf", "allOf", "enum", "const")
_SCHEMAS = ("items", "additionalItems", "additionalProperties")
_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems", "items")
_TABLES = ("properties", "patternProperties", "$defs", "definitions")
_ANY = "mlxp-any"


def ready(schema: Mapping[str, Any], without: Sequence[str] = ()) -> dict[str, Any]:
    """Return the schema as llguidance is to have it.

    Args:
        schema: what is asked.
        without: text that must not occur in the JSON.

    Raises:
        BadRequest: it says what cannot be held; the message names it.
    """
    check_schema(schema)
    told: dict[str, Any] = _ready(schema, without)
    if without:
        told["$defs"] = {**told.get("$defs", {}), _ANY: _anything(without)}
    return told


def _ready(schema: Any, without: Sequence[str]) -> Any:
    if schema is True or schema == {}:
        return {"$ref": f"#/$defs/{_ANY}"} if without else {}
    if not isinstance(schema, Mapping):
        return schema
    told = {**schema}
    _check(told)
    _check_literals(told, without)
    _go_down(told, lambda inner: _ready(inner, without))
    if told.get("uniqueItems") is False:
        del told["uniqueItems"]
    form = told.pop("format", None)
    if form in FORMATS:
        told["allOf"] = [*told.get("allOf", []), {"pattern": f"^(?:{FORMATS[form]})$"}]
    if "type" not in told and not any(keyword in told for keyword in _COMBINING):
        _give_type(told, without)
    return _restrict(told, without) if without else told


def _go_down(told: dict[str, Any], change: Callable[[Any], Any]) -> None:
    """Change the schemas within a schema."""
    for keyword in _SCHEMAS:
        if isinstance(told.get(keyword), Mapping | bool) and told[keyword] is not False:
            told[keyword] = change(told[keyword])
    for keyword in _LISTS:
        if isinstance(told.get(keyword), list | tuple):
            told[keyword] = [change(each) for each in told[keyword]]
    for keyword in _TABLES:
        if isinstance(told.get(keyword), Mapping):
            told[keyword] = {name: change(each) for name, each in told[keyword].items()}


def _give_type(told: dict[str, Any], without: Sequence[str]) -> None:
    """Say which type a schema means that does not say."""
    meant = [kind for kind, keywords in _KEYWORDS.items() if any(keyword in told for keyword in keywords)]
    if meant:
        told["type"] = meant
    elif without:
        told["$ref"] = f"#/$defs/{_ANY}"


def _check(told: Mapping[str, Any]) -> None:
    least, listed = told.get("minProperties", 0), told.get("required", ())
    if isinstance(least, int) and least > len(listed) and not _closed(told):
        raise BadRequest(
            "minProperties cannot be held beyond the required properties: names may come twice; list them in required"
        )


def _closed(told: Mapping[str, Any]) -> bool:
    return told.get("additionalProperties") is False and "patternProperties" not in told


def _check_literals(told: Mapping[str, Any], without: Sequence[str]) -> None:
    """Refuse names and values that hold what must not occur."""
    names = [*told.get("properties", {}), *told.get("required", ())] if without else []
    values = [*told.get("enum", ()), *([told["const"]] if "const" in told else [])]
    for text in (*names, *(str(value) for value in values)):
        bad = next((each for each in without if each in text), None)
        if bad is not None:
            raise BadRequest(f"{text!r} cannot be written in the tool calls of this model: it holds {bad!r}")


def _restrict(told: dict[str, Any], without: Sequence[str]) -> dict[str, Any]:
    """Keep what must not occur out of strings and of names."""
    kinds = told.get("type", ())
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if "string" in kinds and "enum" not in told and "const" not in told:
        rules = [{"pattern": pattern} for pattern in _patterns(without)]
        told["allOf"] = [*told.get("allOf", []), *rules]
    if "object" in kinds and told.get("additionalProperties", True) is not False:
        others = told.pop("additionalProperties", _ready(True, without))
        told["additionalProperties"] = False
        if "properties" not in told and "patternProperties" not in told:
            first, *rest = _patterns(without)
            if rest:
                others = False
            told["patternProperties"] = {first: others}
    return told


def _patterns(without: Sequence[str]) -> list[str]:
    return [f"^(?:{pattern})$" for pattern in avoiding(without)]


def _anything(without: Sequence[str]) -> dict[str, Any]:
    """Return a schema for any JSON without some text."""
    again = {"$ref": f"#/$defs/{_ANY}"}
    names, *_ = _patterns(without)
    text = {"type": "string", "allOf": [{"pattern": pattern} for pattern in _patterns(without)]}
    table = {"type": "object", "patternProperties": {names: again}, "additionalProperties": False}
    return {
        "anyOf": [{"type": ["null", "boolean", "number"]}, text, {"type": "array", "items": again}, table]
    }
