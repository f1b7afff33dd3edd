"""In which order rows are seen: the same for the same seed, whatever was interrupted."""

from __future__ import annotations

import random
from bisect import bisect_left, insort
from collections.abc import Sequence

_WINDOW = 16
"""Passes whose rows are sorted by length together: enough to pad little, and few enough to mix anew each epoch."""

Batch = tuple[tuple[int, ...], ...]
"""Rows of a pass; each row is the items that share it."""


class Course:
    """An endless line of passes."""

    def __init__(
        self,
        units: Sequence[tuple[int, ...]],
        lengths: Sequence[int],
        *,
        rows: int,
        seed: int,
        buckets: bool = True,
    ) -> None:
        """Line passes up.

        Args:
            units: items that share a row; see ``alone`` and ``packed``.
            lengths: of all items, in tokens.
            rows: of a pass.
            seed: of the order.
            buckets: whether rows of a pass are about equally long.
        """
        self._units, self._lengths = tuple(units), tuple(lengths)
        self._rows, self._seed, self._buckets = rows, seed, buckets
        self._known: tuple[int, list[Batch]] = (-1, [])

    @property
    def passes(self) -> int:
        """Return the passes of an epoch."""
        return -(-len(self._units) // self._rows)

    def at(self, place: int) -> Batch:
        """Return a pass, from 0 on."""
        epoch = place // self.passes
        if self._known[0] != epoch:
            self._known = epoch, self.epoch(epoch)
        return self._known[1][place % self.passes]

    def epoch(self, number: int) -> list[Batch]:
        """Return the passes of an epoch: every item once; one of them may be smaller."""
        dice = random.Random(f"{self._seed}/{number}")  # noqa: S311  # an order, no secret
        units = list(self._units)
        dice.shuffle(units)
        if self._buckets:
            windows = _cut(units, self._rows * _WINDOW)
            units = [unit for window in windows for unit in sorted(window, key=self._length)]
        passes = [tuple(units) for units in _cut(units, self._rows)]
        dice.shuffle(passes)
        return passes

    def in_order(self) -> list[Batch]:
        """Return every item once, the shortest first: for evaluation."""
        return [tuple(units) for units in _cut(sorted(self._units, key=self._length), self._rows)]

    def _length(self, unit: tuple[int, ...]) -> int:
        return sum(self._lengths[item] for item in unit)


def alone(count: int) -> tuple[tuple[int, ...], ...]:
    """Return so many items, each in a row of its own."""
    return tuple((item,) for item in range(count))


def packed(lengths: Sequence[int], most: int) -> tuple[tuple[int, ...], ...]:
    """Return items in rows of at most ``most`` tokens: the longest first, each where it leaves the least room."""
    units: list[list[int]] = []
    room: list[tuple[int, int]] = []  # what is left, and of which row; ascending
    for item in sorted(range(len(lengths)), key=lambda item: -lengths[item]):
        place = bisect_left(room, (lengths[item], 0))
        if place == len(room):
            units.append([])
            left, unit = most, len(units) - 1
        else:
            left, unit = room.pop(place)
        units[unit].append(item)
        insort(room, (left - lengths[item], unit))
    return tuple(tuple(unit) for unit in units)


def _cut(units: Sequence[tuple[int, ...]], size: int) -> list[Sequence[tuple[int, ...]]]:
    return [units[first : first + size] for first in range(0, len(units), size)]
