"""Text without quotes that a schema accepts as a string, as one terminal of a grammar."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from mlxp_core.errors import BadRequest
from mlxp_structured.patterns import avoiding, literal, searched, slashed
from mlxp_structured.references import followed

_SOLID = r"(?:\S(?:(?s:.*)\S)?)?"
_DIGIT2 = "(?:0[1-9]|1[0-2])"
_DATE = rf"[0-9]{{4}}-{_DIGIT2}-(?:0[1-9]|1[0-9]|2[0-8])"
_TIME = (
    r"(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]{1,9})?(?:Z|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])"
)
_BYTE = "(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
_LABEL = "[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"
_HEX = "[0-9a-fA-F]"

FORMATS: Mapping[str, str] = {
    "date": _DATE,
    "time": _TIME,
    "date-time": f"{_DATE}T{_TIME}",
    "duration": "P(?:[0-9]{1,6}W|[0-9]{1,6}D(?:T[0-9]{1,6}H)?|T[0-9]{1,6}[HMS])",
    "email": rf"[a-zA-Z0-9_+-]+(?:\.[a-zA-Z0-9_+-]+)*@{_LABEL}(?:\.{_LABEL})+",
    "hostname": rf"{_LABEL}(?:\.{_LABEL}){{0,3}}",
    "ipv4": rf"{_BYTE}(?:\.{_BYTE}){{3}}",
    "ipv6": f"(?:{_HEX}{{1,4}}:){{7}}{_HEX}{{1,4}}",
    "uri": r"[a-z][a-z0-9+.-]*://[a-zA-Z0-9._~-]+(?::[0-9]{1,4})?(?:/[a-zA-Z0-9._~%-]*)*",
    "uuid": f"{_HEX}{{8}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{12}}",
}
"""Expressions for texts that surely have a format; not every text that has it."""


def terminal(schema: Mapping[str, Any], without: Sequence[str] = (), *, solid: bool = False) -> str:
    """Return the expression of a terminal.

    Args:
        schema: what the text has to be as a string; what it says of other types does not matter.
        without: text that must not occur in it.
        solid: no white space at its edges.

    Raises:
        BadRequest: the schema accepts no string, or says what cannot be held; the message names it.
    """
    try:
        told = _accepted(schema, schema)
    except RecursionError as error:
        raise BadRequest("a schema for text leads back to itself") from error
    if told is None:
        raise BadRequest(f"the schema accepts no text: {dict(schema)!r}")
    rules = [told, *(slashed(rule) for rule in avoiding(without)), *([slashed(_SOLID)] if solid else [])]
    return " & ".join(rule for rule in rules if rule) or "/(?s:.*)/"


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
