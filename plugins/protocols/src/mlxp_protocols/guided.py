"""Shapes of answers that every surface takes under the same names."""

from collections.abc import Mapping
from typing import Protocol

import msgspec
from msgspec import Raw

from mlxp_core.errors import BadRequest
from mlxp_core.types import OutputShape

_NULL = Raw(b"null")

NOTES: Mapping[str, str] = {
    "guided_json": "extension; a JSON schema that the answer keeps to",
    "guided_regex": "extension; a regular expression that the whole answer matches",
    "guided_choice": "extension; the texts one of which the answer is",
    "guided_grammar": "extension; a grammar in Lark's notation whose start the answer is",
}
"""The fields, and what is to be known of each."""


class Guided(Protocol):
    """The body of a request, as far as it says so."""

    @property
    def guided_json(self) -> Raw:
        """A JSON schema."""
        ...

    @property
    def guided_regex(self) -> str | None:
        """A regular expression."""
        ...

    @property
    def guided_choice(self) -> list[str] | None:
        """All answers there are."""
        ...

    @property
    def guided_grammar(self) -> str | None:
        """A grammar in Lark's notation."""
        ...


def output(body: Guided, shape: OutputShape, place: str) -> tuple[OutputShape, str]:
    """Return the shape of the answer, and what the body calls it.

    Args:
        body: may ask for a shape by one of our fields.
        shape: what it asks for by a field of the surface itself.
        place: that field.

    Raises:
        BadRequest: it asks for more than one shape.
    """
    asked: list[tuple[str, OutputShape]] = [] if shape == OutputShape() else [(place, shape)]
    if body.guided_json != _NULL:
        asked.append(("guided_json", OutputShape("json_schema", body.guided_json.copy())))
    for kind, value in (
        ("regex", body.guided_regex),
        ("choice", body.guided_choice),
        ("grammar", body.guided_grammar),
    ):
        if value is not None:
            asked.append((f"guided_{kind}", OutputShape(kind, Raw(msgspec.json.encode({kind: value})))))
    if len(asked) > 1:
        names = " and ".join(name for name, _ in asked)
        raise BadRequest(f"{names}: an answer has one shape; leave the others out", param=asked[-1][0])
    return (asked[0][1], asked[0][0]) if asked else (shape, place)
