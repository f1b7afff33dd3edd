"""What an answer may look like, piece by piece.

A family writes the grammar of its markup with these pieces, and a constraint plugin holds answers to it; neither knows
the other. The kind of such a shape is ``PIECES``, its body a ``Grammar`` as JSON.
"""

from collections.abc import Mapping
from typing import Union

import msgspec
from msgspec import Raw, Struct, field

from mlxp_core.types.request import OutputShape

PIECES = "pieces"


class Written(Struct, frozen=True, tag="written"):
    """This text."""

    text: str


class Marker(Struct, frozen=True, tag="marker"):
    """A marker of the family: the token that the tokenizer has for it, else its letters."""

    text: str


class JsonValue(Struct, frozen=True, tag="json"):
    """JSON that the schema accepts.

    Attributes:
        schema: a JSON schema that refers to nothing outside itself.
        without: text that must not occur in it.
    """

    schema: Mapping[str, object]
    without: tuple[str, ...] = ()


class Words(Struct, frozen=True, tag="words"):
    """Text as it stands, without quotes and escapes. Special tokens are never part of it.

    Attributes:
        schema: what the text has to be as a JSON string; ``{}`` = anything.
        without: text that must not occur in it.
        solid: no white space at its edges.
    """

    schema: Mapping[str, object] = field(default_factory=dict)
    without: tuple[str, ...] = ()
    solid: bool = False


class Shaped(Struct, frozen=True, tag="shaped"):
    """Whatever another kind of shape is; see ``OutputShape``. A ``body`` of ``null`` = none."""

    kind: str
    body: Raw = Raw(b"null")


class Either(Struct, frozen=True, tag="either"):
    """One of these; at least one."""

    options: tuple["Piece", ...]


class Chain(Struct, frozen=True, tag="chain"):
    """All of these, one after the other; none = nothing."""

    pieces: tuple["Piece", ...]


class Repeat(Struct, frozen=True, tag="repeat"):
    """The same several times; ``most`` of ``None`` = any number of times."""

    piece: "Piece"
    least: int = 0
    most: int | None = None


class Named(Struct, frozen=True, tag="named"):
    """A rule of the grammar, by its name; this is how something may hold itself."""

    rule: str


Piece = Union[Written, Marker, JsonValue, Words, Shaped, Either, Chain, Repeat, Named]  # noqa: UP007  # recursive


class Grammar(Struct, frozen=True):
    """What an answer may be, and rules that its pieces name."""

    start: Piece
    rules: Mapping[str, Piece] = field(default_factory=dict)

    def shape(self, *, mixed: bool = False) -> OutputShape:
        """Return the grammar as the shape of an answer; see ``OutputShape.mixed``."""
        return OutputShape(PIECES, Raw(msgspec.json.encode(self)), mixed=mixed)


def optional(piece: Piece) -> Piece:
    """Return a piece that may be left out."""
    return Repeat(piece, 0, 1)
