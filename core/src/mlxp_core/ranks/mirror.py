"""Caches of the first rank that have a counterpart on every other one: what happens to them is told, in order.

Snapshots travel through the prompt cache, which cuts them, joins them with others and drops them, and knows nothing of
ranks. So each carries, beside its own arrays, the number of its counterparts: one for each token where tokens lie side
by side, so that whatever is put together from snapshots says what it was put together from.
"""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Callable, Sequence
from itertools import count, groupby
from typing import Self, cast

import mlx.core as mx

from mlxp_core.contracts import LayerCache, Snapshot
from mlxp_core.ranks.messages import Drop, Freeze, Join, Keep, Message, Thaw, Trim, Unload


class Ledger:
    """Numbers of caches and snapshots, and what is to be told of them before the next pass."""

    def __init__(self) -> None:
        """Begin with nothing to tell."""
        self._numbers = count()
        self._news: list[Message] = []
        self._gone: deque[Unload | Drop] = deque()  # appended to by any thread

    def number(self) -> int:
        """Return a number that nothing has had."""
        return next(self._numbers)

    def note(self, message: Message) -> None:
        """Have something told; on the engine thread."""
        self._news.append(message)

    def note_with(self, thing: object, message: Unload | Drop) -> None:
        """Have something told once ``thing`` is gone, on whatever thread that is noticed."""
        weakref.finalize(thing, self._gone.append, message).atexit = False

    def news(self) -> list[Message]:
        """Return what there is to tell since the last call."""
        news, self._news = self._news, []
        return [*news, *(self._gone.popleft() for _ in range(len(self._gone)))]


class Mirror:
    """A ``LayerCache``: that of this rank, whose counterparts do what it does."""

    def __init__(self, own: LayerCache, number: int, ledger: Ledger) -> None:
        """Speak for ``own``; the counterparts have been made, or are being made, under ``number``."""
        self.own = own
        self.number = number
        self._ledger = ledger
        ledger.note_with(self, Drop(number))

    def join(self, other: Self) -> None:
        """Append the rows of ``other``."""
        self._ledger.note(Join(self.number, other.number))
        self.own.join(other.own)

    def keep(self, rows: Sequence[int]) -> None:
        """Keep only these rows, in this order."""
        self._ledger.note(Keep(self.number, tuple(rows)))
        self.own.keep(rows)

    def can_trim(self, row: int, to: int, reached: int) -> bool:
        """Say whether a row can go back; all counterparts would say the same."""
        return self.own.can_trim(row, to, reached)

    def trim(self, row: int, to: int) -> None:
        """Go back as ``can_trim`` allowed."""
        self._ledger.note(Trim(self.number, row, to))
        self.own.trim(row, to)

    def mark(self) -> Callable[[], None]:
        """Refuse: only drafters go on detours, and none is served by ranks.

        Raises:
            NotImplementedError: always.
        """
        raise NotImplementedError("no drafter reads along over ranks")

    def freeze(self, row: int, length: int, start: int = 0) -> Snapshot:
        """Return this rank's snapshot, with the number of its counterparts behind its arrays."""
        number = self._ledger.number()
        self._ledger.note(Freeze(self.number, row, length, start, number))
        taken = self.own.freeze(row, length, start)
        shape = (1,) if taken.first is None else (1, 1, length - taken.first, 1)
        numbers = mx.full(shape, number, dtype=mx.int32)
        self._ledger.note_with(numbers, Drop(number))
        return Snapshot((*taken.arrays, numbers), taken.nbytes + numbers.nbytes, taken.first, taken.window)

    def thaw(self, snapshot: Snapshot) -> Mirror:
        """Return a one-row cache that holds ``snapshot``; reads its numbers, which have long been computed."""
        *arrays, numbers = snapshot.arrays
        made = self._ledger.number()
        pieces = tuple(_pieces(cast("list[int]", numbers.flatten().tolist()), snapshot.first))
        self._ledger.note(Thaw(self.number, made, pieces, snapshot.first))
        own = Snapshot(tuple(arrays), snapshot.nbytes - numbers.nbytes, snapshot.first, snapshot.window)
        return Mirror(self.own.thaw(own), made, self._ledger)

    @property
    def nbytes(self) -> int:
        """Return the bytes allocated now on this rank."""
        return self.own.nbytes


def _pieces(numbers: Sequence[int], first: int | None) -> Sequence[tuple[int, int, int]]:
    """Return runs of one number, each from a token to another."""
    pieces, place = [], first or 0
    for number, run in groupby(numbers):
        end = place + len(list(run))
        pieces.append((number, place, end))
        place = end
    return pieces
