"""State of fixed size: convolutions, recurrences.

What was mixed in cannot be taken out. So a row goes back by computing again: a pass that may be revoked leaves what it
began from and what it read (``remember``), and from these the state of its first few tokens is made when somebody asks
for it. A pass that is not gone back into costs nothing more.
"""

from collections.abc import Callable, Sequence
from typing import Self

import mlx.core as mx

from mlxp_core.contracts import Positions, Snapshot
from mlxp_core.kv.buffer import copied

State = tuple[mx.array, ...]


class _Remembered:
    """A pass that rows can go back into: where it began, how many of its tokens each row keeps."""

    def __init__(self, at: Positions, after: Callable[[mx.array], State]) -> None:
        self.starts = at.starts
        self.counts = list(at.counts)
        self.after = after


class RecurrentCache:
    """A ``StateCache``."""

    def __init__(self, shapes: Sequence[tuple[int, ...]], dtypes: Sequence[mx.Dtype]) -> None:
        """Make zeros for one row.

        Args:
            shapes: of each state, without the row axis.
            dtypes: of each state.
        """
        self._shapes, self._dtypes = tuple(shapes), tuple(dtypes)
        self._state: State | None = tuple(
            mx.zeros((1, *shape), dtype=dtype) for shape, dtype in zip(shapes, dtypes, strict=True)
        )
        self._pass: _Remembered | None = None

    @property
    def state(self) -> State:
        """Each ``[rows, *shape]``; zeros at first. Once it is set anew, no row can go back any more."""
        if self._state is None:
            if self._pass is None:
                raise ValueError("a row went back into a pass that nothing is known of")
            self._state = self._pass.after(mx.array(self._pass.counts, dtype=mx.int32))
        return self._state

    @state.setter
    def state(self, state: State) -> None:
        self._state, self._pass = state, None

    def remember(self, at: Positions, after: Callable[[mx.array], State]) -> None:
        """Keep what it takes to go back into a pass; see ``StateCache.remember``."""
        self._pass = _Remembered(at, after)

    def join(self, other: Self) -> None:
        """Append the rows of ``other``."""
        pairs = zip(self.state, other.state, strict=True)
        self.state = tuple(mx.concatenate(list(pair), axis=0) for pair in pairs)

    def keep(self, rows: Sequence[int]) -> None:
        """Keep only these rows, in this order."""
        index = mx.array(list(rows), dtype=mx.int32)
        self.state = tuple(mx.take(part, index, axis=0) for part in self.state)

    def can_trim(self, row: int, to: int, reached: int) -> bool:  # noqa: ARG002  # the contract's signature
        """Say no, but to what was the end of a row within the pass that is remembered."""
        return self._pass is not None and 0 <= to - self._pass.starts[row] <= self._pass.counts[row]

    def trim(self, row: int, to: int) -> None:
        """Go back into the pass that is remembered."""
        if self._pass is not None:
            self._pass.counts[row] = to - self._pass.starts[row]
            self._state = None

    def mark(self) -> Callable[[], None]:
        """Return what puts the state back that there is now, and what is remembered of the pass that set it."""
        held = self._state, self._pass

        def back() -> None:
            self._state, self._pass = held

        return back

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
        """Return the bytes allocated now; a pass that is remembered holds the state before it, too."""
        held = sum(part.nbytes for part in self.state)
        return held if self._pass is None else 2 * held
