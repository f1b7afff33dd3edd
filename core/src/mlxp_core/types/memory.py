"""Bytes, by arithmetic only."""

from msgspec import Struct


class Need(Struct, frozen=True, kw_only=True):
    """What a model takes.

    Attributes:
        weights: bytes of its parameters.
        fixed: bytes per row that do not grow (recurrent state, full windows).
        per_token: bytes per row and token of context.
        transient: peak bytes of one prefill chunk.
    """

    weights: int = 0
    fixed: int = 0
    per_token: int = 0
    transient: int = 0


class Budget(Struct, frozen=True):
    """What there is: ``total`` bytes, of which ``reserved`` are spoken for."""

    total: int
    reserved: int = 0


class Verdict(Struct, frozen=True):
    """Whether it fits, and how many tokens would."""

    fits: bool
    max_tokens: int
    reason: str = ""
