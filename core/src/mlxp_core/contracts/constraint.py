"""Holding an answer to a shape: the automaton is a plugin's, the masking is ours."""

from collections.abc import Callable, Mapping
from typing import Protocol

from msgspec import Raw, Struct


class Vocabulary(Protocol):
    """What a constraint may know of the tokenizer."""

    size: int
    """Number of logits, padding rows included."""

    end_tokens: frozenset[int]

    added_tokens: Mapping[int, str]
    """id -> text of the tokens that are cut out of a text before anything else: markers, the special ones too.

    They are no part of text under a constraint: a constraint allows one only where it means that marker.
    """

    def encode(self, text: str) -> list[int]:
        """Return the ids of a text; markers in it become their tokens."""
        ...

    def token_bytes(self, token: int) -> bytes:
        """Return the bytes a token stands for; empty for special ones."""
        ...

    def tokenizer_json(self) -> str:
        """Return the tokenizer.json text, for libraries that read it themselves."""
        ...


class Constraint(Protocol):
    """The state of one row's answer."""

    def allowed(self) -> bytes:
        """Return the bitmask of tokens that may come next: bit ``t % 8`` of byte ``t // 8``; never empty."""
        ...

    def advance(self, token: int) -> None:
        """Take the token that was drawn; it was allowed."""
        ...


class ConstraintKind(Struct, frozen=True, kw_only=True):
    """One kind of shape, the ``kind`` of an ``OutputShape``. ``compile`` raises ``BadRequest`` on what it refuses."""

    name: str
    compile: Callable[[Raw | None, Vocabulary], Constraint]
