"""Which rows are worth keeping, and why others are not."""

from __future__ import annotations

import re
from collections import Counter

from msgspec import Struct

from mlxp_core.types import Message
from mlxp_lab.datasets.doubts import answers, whole, words_of
from mlxp_lab.datasets.rows import ChatRow, CompletionRow, Row
from mlxp_lab.datasets.twins import Twins

NO_ROW = "no row"
"""Why a line is dropped that cannot be read."""

_WORDS = 4
"""Words of a phrase whose repetition is counted."""

_SHARE = 0.5
"""Share of the phrases of an answer that may be repetitions."""

_FEW = 20
"""Shorter answers may repeat what they like."""

_WORD = re.compile(r"\w+")


class Limits(Struct, frozen=True, kw_only=True):
    """What rows must be; ``shortest``: characters of an answer; ``near``: see ``Twins``."""

    shortest: int
    near: float


class Sieve:
    """Takes rows in, one by one, in their order."""

    def __init__(self, limits: Limits) -> None:
        """Begin without any."""
        self._limits = limits
        self._twins = Twins(limits.near)

    def take(self, row: Row) -> str | None:
        """Take a row in, and say why it is not worth keeping; ``None`` if it is."""
        said = answers(row)
        if any(map(repeats, said)):
            return "the answer repeats itself"
        if said and sum(map(len, said)) < self._limits.shortest:
            return "the answer is too short"
        if _echoes(row):
            return "the answer is what was asked"
        if self._twins.like(_own(row)) is not None:
            return "nearly the same as an earlier row"
        return None


def repeats(text: str) -> bool:
    """Say whether most of a text is phrases that it has said before."""
    words = _WORD.findall(text.lower())
    if len(words) < _FEW:
        return False
    phrases = Counter(tuple(words[place : place + _WORDS]) for place in range(len(words) - _WORDS + 1))
    return phrases.total() - len(phrases) > _SHARE * phrases.total()


def _echoes(row: Row) -> bool:
    match row:
        case CompletionRow(prompt, completion):
            return _plain(prompt) == _plain(completion)
        case ChatRow(messages=(*_, Message(role="user") as asked, Message(role="assistant") as answer)):
            return bool(words_of(answer)) and _plain(words_of(asked)) == _plain(words_of(answer))
        case _:
            return False


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())


def _own(row: Row) -> str:
    """Return what a row does not share with others by its making, as instructions and passages of a system message."""
    if not isinstance(row, ChatRow):
        return whole(row)
    return whole(ChatRow(tuple(message for message in row.messages if message.role != "system")))
