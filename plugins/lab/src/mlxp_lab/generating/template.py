"""What a template is: fields to fill in, and the tasks that follow from them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct

from mlxp_lab.datasets.rows import Form
from mlxp_lab.generating.asking import Ask, Dropped
from mlxp_lab.jobs import BadParameters

_DIGITS = 12
"""Most characters of a number."""

Value = str | int
Row = dict[str, Any]

Task = Callable[[Ask], Iterator[Row | Dropped]]
"""Makes some rows, each of which may come to nothing; does the same whenever it is done."""


class Field(Struct, frozen=True, kw_only=True):
    """Something to fill in.

    Attributes:
        name: unique in its template.
        label: for people.
        type: ``text`` of any length, ``lines`` with one thing each, a single ``line``, or a whole ``number``.
        hint: what belongs there.
        required: must be filled in.
        default: what stands there otherwise.
        least, most: bounds of a number.
    """

    name: str
    label: str
    type: Literal["text", "lines", "line", "number"] = "text"
    hint: str = ""
    required: bool = False
    default: Value = ""
    least: int = 0
    most: int = 10**6


class Inputs:
    """What was filled in."""

    def __init__(self, values: Mapping[str, Value], seed: int) -> None:
        """Keep the values, complete; ``seed`` decides what a template draws."""
        self._values = values
        self.seed = seed

    def text(self, name: str) -> str:
        """Return a text without spaces around it."""
        return str(self._values[name]).strip()

    def number(self, name: str) -> int:
        """Return a number."""
        return int(self._values[name])

    def lines(self, name: str) -> list[str]:
        """Return the lines of a text that are not blank."""
        return [line.strip() for line in self.text(name).splitlines() if line.strip()]

    def paragraphs(self, name: str) -> list[str]:
        """Return what blank lines part."""
        text = "\n".join(line.rstrip() for line in self.text(name).splitlines())
        return [part.strip("\n") for part in text.split("\n\n") if part.strip()]


class Template(Struct, frozen=True, kw_only=True):
    """One way to make a dataset.

    Attributes:
        name: unique.
        label: for people.
        summary: what it makes, in a sentence.
        form: of its rows.
        needs_model: whether it asks one.
        fields: what to fill in.
        plan: returns the tasks; raises ``BadParameters`` where what was filled in cannot be used. Reads no model.
    """

    name: str
    label: str
    summary: str
    form: Form
    needs_model: bool
    fields: tuple[Field, ...]
    plan: Callable[[Inputs], Sequence[Task]]


def filled(template: Template, given: Mapping[str, Value]) -> dict[str, Value]:
    """Return a value for each field of a template.

    Raises:
        BadParameters: a field is missing, unknown, or of the wrong type.
    """
    known = {field.name: field for field in template.fields}
    for name in given:
        if name not in known:
            raise BadParameters(
                f"template {template.name!r} has no field {name!r}; it has {', '.join(known)}",
                param=f"inputs.{name}",
            )
    return {name: _value(field, given.get(name, field.default)) for name, field in known.items()}


def _value(field: Field, value: Value) -> Value:
    place = f"inputs.{field.name}"
    if field.type == "number":
        if isinstance(value, str) and len(value) <= _DIGITS and value.strip().isdecimal():
            value = int(value)
        if not isinstance(value, int) or not field.least <= value <= field.most:
            raise BadParameters(
                f"{field.name} must be a whole number from {field.least} to {field.most}", param=place
            )
        return value
    if field.required and not str(value).strip():
        raise BadParameters(f"{field.name} is needed: {field.hint or field.label}", param=place)
    if field.type == "line" and "\n" in str(value).strip():
        raise BadParameters(f"{field.name} must be a single line", param=place)
    return str(value)


def bad(field: str, message: str) -> BadParameters:
    """Return the error that says what is wrong with a field."""
    return BadParameters(f"{field}: {message}", param=f"inputs.{field}")
