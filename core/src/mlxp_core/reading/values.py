"""Values written as plain text to JSON, guided by the tool's schema; whole, or while they grow.

A text parameter stays text whatever it looks like ("2025" is a string when the schema says so). Anything else is read
as JSON, then as a Python literal (``True``, ``{'a': (1, 2)}``: how templates print history); what is neither stays
text. Since fragments are sent while they are read, a key that comes twice stands twice in the JSON object; readers
of JSON take the last, which is what models mean.
"""

import json
import re
from typing import Any

import msgspec

from mlxp_core.reading.schema import Types, is_text, parameter_types, types_of
from mlxp_core.types import ToolSpec

_LITERAL = re.compile(
    r"""\s+
    | (?P<mark>[{}\[\]():,])
    | (?P<string>'(?:[^'\\]|\\.)*' | "(?:[^"\\]|\\.)*")
    | (?P<word>True|False|None|true|false|null)\b
    | (?P<number>-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)\b
    """,
    re.VERBOSE | re.DOTALL,
)
_WORDS = {"True": "true", "False": "false", "None": "null"}
_BRACKETS = {"(": "[", ")": "]"}
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "0": "\0", "\n": ""}


def quoted(text: str) -> str:
    """Return ``text`` as a JSON string, quotes included."""
    return msgspec.json.encode(text).decode()


def value_json(text: str, types: Types) -> str:
    """Return the JSON text of a value that was written as plain text.

    Args:
        text: the value as written.
        types: what the schema permits; see ``parameter_types``.
    """
    if is_text(types) or not text.strip():
        return quoted(text)
    readings = [reading for reading in (text.strip(), _from_python(text.strip())) if reading is not None]
    values = [
        (reading, value) for reading in readings if (value := decoded(reading, _NOTHING)) is not _NOTHING
    ]
    for reading, value in values:
        if types is None or types & types_of(value):
            return reading
    if not values or (types is not None and "string" in types):
        return quoted(text)
    return values[0][0]


def object_json(text: str) -> str | None:
    """Return ``text`` when it is a JSON object, else ``None``."""
    return text if isinstance(decoded(text), dict) else None


class ArgumentWriter:
    """The arguments of one call as fragments of a JSON object, while they are read.

    Text parameters go out as they grow; others wait until they are complete, because only then is their type known.
    """

    def __init__(self, tool: ToolSpec) -> None:
        self._tool = tool
        self._types: Types = None
        self._held: list[str] | None = None
        self._empty = True

    def open(self, key: str) -> str:
        """Begin a parameter; return the fragment."""
        self._types = parameter_types(self._tool, key)
        self._held = None if is_text(self._types) else []
        lead, self._empty = ("{" if self._empty else ", "), False
        return f"{lead}{quoted(key)}: " + ('"' if self._held is None else "")

    def write(self, text: str) -> str:
        """Take more of the parameter's text; return the fragment, empty while the value waits."""
        if self._held is None:
            return quoted(text)[1:-1]
        self._held.append(text)
        return ""

    def close(self) -> str:
        """End the parameter; return the fragment."""
        return '"' if self._held is None else value_json("".join(self._held), self._types)

    def end(self) -> str:
        """End the object; return the fragment."""
        return "{}" if self._empty else "}"


_NOTHING: Any = object()


def decoded(text: str, otherwise: Any = None) -> Any:
    """Return the value of a JSON text; ``otherwise`` for what is no JSON.

    A number may be larger than a float holds: JSON does not mind.
    """
    try:
        return msgspec.json.decode(text)
    except msgspec.ValidationError:
        return _with_large_numbers(text, otherwise)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return otherwise


def _with_large_numbers(text: str, otherwise: Any) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return otherwise


def _from_python(text: str) -> str | None:
    """Spell a Python literal (no bare string) in JSON; ``None`` for anything else. JSON decides whether it is valid."""
    if text[0] not in "{[(" and text not in _WORDS:
        return None
    out: list[str] = []
    at = 0
    while at < len(text):
        found = _LITERAL.match(text, at)
        if found is None:
            return None
        at = found.end()
        match found.lastgroup:
            case "mark":
                mark = _BRACKETS.get(found.group(), found.group())
                if mark in "]}" and out and out[-1] == ",":
                    out.pop()
                out.append(mark)
            case "string":
                out.append(_string(found.group()[1:-1]))
            case "word" | "number":
                out.append(_WORDS.get(found.group(), found.group()))
    return " ".join(out)


def _string(body: str) -> str:
    """Return the JSON spelling of what stands between a Python string's quotes."""

    def unescape(found: re.Match[str]) -> str:
        code = found.group(1)
        if code[0] in "xuU" and len(code) > 1:
            number = int(code[1:], 16)
            return chr(number) if number < 0xD800 or 0xDFFF < number < 0x110000 else found.group()  # noqa: PLR2004 - surrogates are no characters
        return _ESCAPED.get(code, code if code in "'\"\\" else found.group())

    return quoted(_ESCAPE.sub(unescape, body))
