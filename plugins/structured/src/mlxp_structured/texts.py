"""Text without quotes that a schema accepts as a string, as one terminal of a grammar."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from mlxp_core.errors import BadRequest
from mlxp_core.reading import check_schema
from mlxp_structured.formats import FORMATS
from mlxp_structured.patterns import avoiding, literal, searched, slashed
from mlxp_structured.references import followed

_SOLID = r"(?:\S(?:(?s:.*)\S)?)?"


def terminal(schema: Mapping[str, Any], without: Sequence[str] = (), *, solid: bool = False) -> str:
    """Return the expression of a terminal.

    Args:
        schema: what the text has to be as a string; what it says of other types does not matter.
        without: text that must not occur in it.
        solid: no white space at its edges.

    Raises:
        BadRequest: the schema accepts no string, or says what cannot be held; the message names it.
    """
    check_schema(schema)
    schema, spelled = _spelled(schema, without, solid=solid)
    try:
        told = _accepted(schema, schema)
    except RecursionError as error:
        raise BadRequest("a schema for text leads back to itself") from error
    if told is None:
        raise BadRequest(f"the schema accepts no text: {dict(schema)!r}")
    if spelled is not None:
        return " & ".join(rule for rule in (spelled, told) if rule)
    rules = [told, *(slashed(rule) for rule in avoiding(without)), *([slashed(_SOLID)] if solid else [])]
    return " & ".join(rule for rule in rules if rule) or "/(?s:.*)/"


def _spelled(
    schema: Mapping[str, Any], without: Sequence[str], *, solid: bool
) -> tuple[Mapping[str, Any], str | None]:
    """Return what else a schema says that spells out its texts, and an expression for those that may stand here."""
    if "enum" not in schema and "const" not in schema:
        return schema, None
    values = schema["enum"] if "enum" in schema else (schema["const"],)
    texts = [
        value
        for value in values
        if isinstance(value, str)
        and not any(each in value for each in without)
        and not (solid and value != value.strip())
    ]
    if not texts:
        raise BadRequest(f"none of these can be written in the tool calls of this model: {list(values)!r}")
    key = "enum" if "enum" in schema else "const"
    others = {name: value for name, value in schema.items() if name != key}
    return others, slashed("|".join(map(literal, texts)))


def _accepted(schema: Any, root: Mapping[str, Any]) -> str | None:
    """Return an expression for the strings that a schema accepts; empty = all, ``None`` = there are none."""
    if schema is True:
        return ""
    if schema is False or not _takes_text(schema):
        return None
    rules: list[str] = []
    for keyword, value in schema.items():
        rule = _rule(keyword, value, schema, root)
        if rule is None:
            return None
        rules.append(rule)
    return " & ".join(rule for rule in rules if rule)


def _takes_text(schema: Mapping[str, Any]) -> bool:
    kinds = schema.get("type", "string")
    return "string" in ([kinds] if isinstance(kinds, str) else kinds)


def _rule(keyword: str, value: Any, schema: Mapping[str, Any], root: Mapping[str, Any]) -> str | None:
    """Return what one keyword of ``schema`` asks of a string; empty = nothing, ``None`` = that there is none."""
    told: str | None = ""
    match keyword:
        case "enum" | "const":
            values = value if keyword == "enum" else (value,)
            told = _one_of([literal(each) for each in values if isinstance(each, str)])
        case "pattern":
            told = slashed(searched(value))
        case "minLength" | "maxLength":
            told = _lengths(schema)
        case "format":
            told = slashed(FORMATS[value]) if value in FORMATS else ""
        case "$ref":
            told = _accepted(followed(value, root), root)
        case "allOf":
            told = _all([_accepted(each, root) for each in value])
        case "anyOf" | "oneOf":
            told = _any([_accepted(each, root) for each in value])
        case "not" | "if" | "then" | "else":
            raise BadRequest(f"the keyword {keyword!r} of a schema cannot be held for text in tool calls")
    return told


def _lengths(schema: Mapping[str, Any]) -> str | None:
    least, most = int(schema.get("minLength", 0)), schema.get("maxLength")
    if most is not None and most < least:
        return None
    return slashed(f"(?s:.{{{least},{'' if most is None else int(most)}}})")


def _one_of(options: Sequence[str]) -> str | None:
    return slashed("|".join(options)) if options else None


def _all(rules: Iterable[str | None]) -> str | None:
    told = list(rules)
    if None in told:
        return None
    return " & ".join(rule for rule in told if rule)


def _any(rules: Iterable[str | None]) -> str | None:
    told = [rule for rule in rules if rule is not None]
    if not told:
        return None
    return "" if "" in told else f"({' | '.join(told)})"
