"""State of fixed size: convolutions, recurrences."""

from collections.abc import Sequence
from typing import Self

import mlx.core as mx

from mlxp_core.contracts import Snapshot
from mlxp_core.kv.buffer import copied


class RecurrentCache:
    """A ``StateCache``. The layer reads ``state`` and sets it anew; it never goes back.

    Attributes:
        state: each ``[rows, *shape]``; zeros at first.
    """

    def __init__(self, shapes: Sequence[tuple[int, ...]], dtypes: Sequence[mx.Dtype]) -> None:
        """Make zeros for one row.

        Args:
            shapes: of each state, without the row axis.
            dtypes: of each state.
        """
        self._shapes, self._dtypes = tuple(shapes), tuple(dtypes)
        self.state: tuple[mx.array, ...] = tuple(
            mx.zeros((1, *shape), dtype=dtype) for shape, dtype in zip(shapes, dtypes, strict=True)
        )

    def join(self, other: Self) -> None:
        """Append the rows of ``other``."""
        pairs = zip(self.state, other.state, strict=True)
        self.state = tuple(mx.concatenate(list(pair), axis=0) for pair in pairs)

    def keep(self, rows: Sequence[int]) -> None:
        """Keep only these rows, in this order."""
        index = mx.array(list(rows), dtype=mx.int32)
        self.state = tuple(mx.take(part, index, axis=0) for part in self.state)

    def can_trim(self, length: int, count: int) -> bool:  # noqa: ARG002  # the contract's signature
        """Say no, but to nothing: what was mixed in cannot be taken out."""
        return count == 0

    def freeze(self, row: int, length: int, start: int = 0) -> Snapshot:  # noqa: ARG002  # as above
        """Return a copy of a row's state."""
        arrays = tuple(copied(part[row : row + 1]) for part in self.state)
        return Snapshot(arrays=arrays, nbytes=sum(array.nbytes for array in arrays))

    def thaw(self, snapshot: Snapshot) -> Self:
        """Return a one-row cache that holds ``snapshot``."""
        thawed = type(self)(self._shapes, self._dtypes)
        thawed.state = tuple(mx.array(array) for array in snapshot.arrays)
        return thawed

    @property
    def nbytes(self) -> int:
        """Return the bytes allocated now."""
        return sum(part.nbytes for part in self.state)
