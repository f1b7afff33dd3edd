"""A grammar of pieces as llguidance reads it: Lark's notation, with tokens and JSON schemas in it."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from msgspec import Raw

from mlxp_core.types import Chain, Either, JsonValue, Marker, Named, Piece, Repeat, Shaped, Words, Written
from mlxp_structured.patterns import slashed
from mlxp_structured.schemas import ready
from mlxp_structured.texts import terminal

_SPACE = r"[ ]?|\n(?:[ ]{0,24}|\t{0,8})"
"""White space between the parts of JSON: none, a space, or a new line with an indent. More would have no end."""


class LarkWriter:
    """Writes one grammar; every method but ``source`` and ``whole`` returns an expression, and may add rules.

    Args:
        markers: id -> text of the tokens that are markers.
        shaped: what becomes of a shape that is a piece.
    """

    def __init__(self, markers: Mapping[int, str], shaped: Callable[[str, Raw, "LarkWriter"], str]) -> None:
        self._markers = {text: token for token, text in markers.items()}
        self._shaped = shaped
        self._rules: list[str] = []
        self._names: Mapping[str, str] = {}

    def source(self, start: Piece, rules: Mapping[str, Piece]) -> str:
        """Return a whole grammar."""
        self._names = {name: f"r{number}" for number, name in enumerate(rules)}
        self._rules += [f"{self._names[name]}: {self._piece(piece)}" for name, piece in rules.items()]
        return self.whole(self._piece(start))

    def whole(self, start: str) -> str:
        """Return the grammar whose start is the expression."""
        return "\n".join([f"start: {start}", *self._rules, ""])

    def value(self, schema: Mapping[str, Any], without: Sequence[str] = ()) -> str:
        """Return an expression for JSON that a schema accepts."""
        told = {**ready(schema, without), "x-guidance": {"whitespace_pattern": _SPACE}}
        return self._rule("%json " + json.dumps(told, ensure_ascii=False))

    def pattern(self, pattern: str) -> str:
        """Return an expression for text that matches as a whole."""
        return self._terminal(slashed(pattern))

    def choice(self, texts: Iterable[str]) -> str:
        """Return an expression for one of some texts."""
        return f"({' | '.join(map(_quoted, texts))})"

    def nested(self, grammar: str) -> str:
        """Return an expression for what another grammar says."""
        return self._rule(f"%lark {{\n{grammar}\n}}")

    def _piece(self, piece: Piece) -> str:
        match piece:
            case Either(options):
                told = f"({' | '.join(self._piece(option) for option in options)})"
            case Repeat(inner, least, most):
                told = f"({self._piece(inner)}){{{least},{'' if most is None else most}}}"
            case JsonValue(schema, without):
                told = self.value(schema, without)
            case Named(rule):
                told = self._names[rule]
            case Shaped(kind, body):
                told = self._shaped(kind, body, self)
            case Chain(pieces):
                told = self._chain(pieces)
            case _:
                told = self._chain((piece,))
        return told

    def _chain(self, pieces: Sequence[Piece]) -> str:
        """Return an expression for a sequence; what follows words belongs to their terminal, which ends with it."""
        parts: list[str] = []
        flat = [*_flat(pieces)]
        at = 0
        while at < len(flat):
            piece = flat[at]
            at += 1
            if isinstance(piece, Words):
                end = []
                while at < len(flat) and (text := self._letters(flat[at])) is not None:
                    end.append(text)
                    at += 1
                parts.append(self._words(piece, "".join(end)))
            elif (text := self._letters(piece)) is not None:
                parts.append(_quoted(text))
            elif isinstance(piece, Marker):
                parts.append(f"<[{self._markers[piece.text]}]>")
            else:
                parts.append(self._piece(piece))
        return " ".join(parts) or '""'

    def _letters(self, piece: Piece) -> str | None:
        """Return the letters of a piece that is written in letters."""
        match piece:
            case Written(text):
                return text
            case Marker(text) if text not in self._markers:
                return text
            case _:
                return None

    def _words(self, words: Words, end: str) -> str:
        text = self._terminal(terminal(words.schema, words.without, solid=words.solid))
        if not end:
            return text
        whole = self._terminal(f"{text} {_quoted(end)}")
        return self._rule(whole, "[lazy]")

    def _rule(self, body: str, attributes: str = "") -> str:
        name = f"x{len(self._rules)}"
        self._rules.append(f"{name}{attributes}: {body}")
        return name

    def _terminal(self, body: str) -> str:
        name = f"X{len(self._rules)}"
        self._rules.append(f"{name}: {body}")
        return name


def _flat(pieces: Iterable[Piece]) -> Iterable[Piece]:
    for piece in pieces:
        if isinstance(piece, Chain):
            yield from _flat(piece.pieces)
        else:
            yield piece


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
