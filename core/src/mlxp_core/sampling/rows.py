"""Which rows of a batch something is about, and how to take them out and put them back."""

from collections.abc import Callable, Sequence

import mlx.core as mx


class Rows:
    """Some rows of a batch, in an order of their own.

    Attributes:
        at: their numbers in the batch.
    """

    def __init__(self, at: Sequence[int], batch: int) -> None:
        """Note the rows ``at`` of a batch of ``batch`` rows; all of them in order cost no gathering."""
        self.at = tuple(at)
        self._index = None if self.at == tuple(range(batch)) else mx.array(self.at, dtype=mx.int32)

    def __len__(self) -> int:
        return len(self.at)

    def take(self, batch: mx.array) -> mx.array:
        """Return these rows of ``[batch, ...]``."""
        return batch if self._index is None else batch[self._index]

    def edit(self, batch: mx.array, change: Callable[[mx.array], mx.array]) -> mx.array:
        """Return ``batch`` with these rows changed, the others as they are; ``batch`` itself stays."""
        if self._index is None:
            return change(batch)
        changed = change(batch[self._index])
        copy = mx.array(batch)
        copy[self._index] = changed
        return copy


def follow(mine: Sequence[int], kept: Sequence[int]) -> tuple[list[int], list[int]]:
    """Say what becomes of the rows ``mine`` when a batch keeps the rows ``kept``.

    Returns:
        Positions in ``mine`` that stay, and their new row numbers.
    """
    position = {row: index for index, row in enumerate(mine)}
    pairs = [(position[row], new) for new, row in enumerate(kept) if row in position]
    return [index for index, _ in pairs], [new for _, new in pairs]
