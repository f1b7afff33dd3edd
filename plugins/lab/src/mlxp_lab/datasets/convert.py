"""Records of other shapes become rows: columns by name, and the two shapes of conversations that are often met."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from mlxp_lab.datasets.rows import BadRow

FIELDS = (
    "messages",
    "tools",
    "prompt",
    "completion",
    "text",
    "chosen",
    "rejected",
    "system",
    "user",
    "assistant",
)
"""What a column can be; the last three make a conversation."""

_WORDS = frozenset({"prompt", "completion", "text", "chosen", "rejected", "system", "user", "assistant"})

_SPEAKERS = {
    "human": "user",
    "user": "user",
    "gpt": "assistant",
    "assistant": "assistant",
    "system": "system",
    "tool": "tool",
}

Columns = Mapping[str, str]
"""Field of a row -> name of the column that it comes from."""


def as_row(values: Mapping[str, Any], columns: Columns) -> dict[str, Any]:
    """Return a record as a row, which may still be a faulty one.

    Args:
        values: of the record.
        columns: where fields come from; none = the record has a row's own fields, or a shape that is known.

    Raises:
        BadRow: a column is missing, or holds something that cannot be what it is called.
    """
    if columns:
        return _talk({field: _value(values, field, column) for field, column in columns.items()})
    if "conversations" in values and "messages" not in values:
        return _shared(values)
    if {"instruction", "output"} <= set(values):
        return _instructed(values)
    return _talk({name: _cell(name, value) for name, value in values.items()})


def _value(values: Mapping[str, Any], field: str, column: str) -> Any:
    if values.get(column) is None:
        has = ", ".join(sorted(values)) or "no columns"
        raise BadRow(f"there is nothing in column {column!r}; it has {has}", param=field)
    return _cell(field, values[column])


def _cell(field: str, value: Any) -> Any:
    """Return what a cell holds; where words belong, numbers are words, and where JSON belongs, text is read as such."""
    if field in {"messages", "tools"} and isinstance(value, str):
        try:
            return msgspec.json.decode(value)
        except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
            raise BadRow(f"{field}: it is no JSON: {error}", param=field) from error
    if field in _WORDS and isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    return value


def _talk(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row whose columns ``system``, ``user`` and ``assistant`` are messages."""
    if "messages" in row or not {"user", "assistant"} <= set(row):
        return row
    said = [(role, row[role]) for role in ("system", "user", "assistant") if row.get(role)]
    rest = {name: value for name, value in row.items() if name not in {"system", "user", "assistant"}}
    return {"messages": [{"role": role, "content": words} for role, words in said], **rest}


def _shared(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return a conversation whose messages have ``from`` and ``value``."""
    messages, talk = [], values["conversations"]
    if not isinstance(talk, list):
        raise BadRow("conversations must be a list of messages", param="conversations")
    for place, told in enumerate(talk):
        speaker = told.get("from") if isinstance(told, Mapping) else None
        if not isinstance(speaker, str) or speaker not in _SPEAKERS:
            raise BadRow(f"conversations[{place}]: it is from {speaker!r}, not one of {', '.join(_SPEAKERS)}")
        messages.append({"role": _SPEAKERS[speaker], "content": told.get("value")})
    return {"messages": messages}


def _instructed(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return an instruction with its input and output as a conversation."""
    asked = "\n\n".join(str(values[name]) for name in ("instruction", "input") if values.get(name))
    said = [("system", values.get("system")), ("user", asked), ("assistant", values["output"])]
    return {"messages": [{"role": role, "content": words} for role, words in said if words]}
