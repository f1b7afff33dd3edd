"""Random choices that know which content belongs to the training and which to the evaluation.

Content is told apart by a checksum of itself: one key in sixteen is held out. Neither side ever draws the other's, so a
question of the evaluation was never in the training, whatever the seeds.
"""

from __future__ import annotations

import random
import zlib
from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")

SHARE = 16
"""One key in so many is held out."""


def is_held(key: str) -> bool:
    """Say whether content belongs to the evaluation alone."""
    return zlib.crc32(key.encode()) % SHARE == 0


class Draw:
    """A source of choices for one conversation."""

    def __init__(self, seed: str, *, held: bool = False) -> None:
        """Draw by ``seed``; with ``held``, content of the evaluation."""
        self.rng = random.Random(seed)
        self.held = held

    def pick(self, choices: Sequence[T]) -> T:
        """Return one of them."""
        return choices[int(self.rng.random() * len(choices))]

    def several(self, choices: Sequence[T], count: int) -> list[T]:
        """Return ``count`` different ones."""
        return self.rng.sample(choices, count)

    def chance(self, share: float) -> bool:
        """Say yes in this share of cases."""
        return self.rng.random() < share

    def count(self, least: int, most: int) -> int:
        """Return a whole number between the two, both included."""
        return least + int(self.rng.random() * (most - least + 1))

    def fresh(self, make: Callable[[], T], key: Callable[[T], str] = str) -> T:
        """Make content until it is this side's own."""
        while True:
            made = make()
            if is_held(key(made)) == self.held:
                return made

    def weighted(self, choices: Sequence[tuple[float, T]]) -> T:
        """Return a choice by its weight."""
        place = self.rng.random() * sum(weight for weight, _ in choices)
        for weight, choice in choices:
            place -= weight
            if place < 0:
                return choice
        return choices[-1][1]
