"""Keys and values of one attention layer, side by side, with room to grow.

Arrays change only by rebinding an attribute or by a slice assignment to an array that nobody else names: MLX then
writes in place. Whoever hands an array out, or takes one in, makes a name of its own for it.
"""

from collections.abc import Sequence
from typing import Self

import mlx.core as mx
from msgspec import Struct

from mlxp_core.contracts import Positions, Snapshot
from mlxp_core.kv.masks import common_start, query_positions
from mlxp_core.kv.store import Planes
from mlxp_core.types import slots_for


class Place(Struct, frozen=True):
    """Where the tokens of a pass go.

    Attributes:
        size: slots the buffer must have.
        first: the first slot, when all rows write the same run of slots.
        slots: ``[rows, 1, width, 1]``, the slot of each token, when they do not.
    """

    size: int
    first: int = 0
    slots: mx.array | None = None


def place_tokens(at: Positions, *, ring: int | None = None) -> Place:
    """Say where this pass writes; position ``p`` goes to slot ``p``, or ``p % ring``."""
    start, end = common_start(at), max(at.starts) + at.width
    size = end if ring is None else min(end, ring)
    if start is not None:
        first = start if ring is None else start % ring
        if first + at.width <= size:
            return Place(size=size, first=first)
    positions = query_positions(at)
    slots = positions if ring is None else positions % ring
    return Place(size=size, slots=slots[:, None, :, None])


class Buffer:
    """Planes of keys and values, each ``[rows, kv_heads, slots, ...]``; none until a pass says their shape."""

    def __init__(self, most: int | None = None) -> None:
        """Hold one row of nothing.

        Args:
            most: slots beyond which the buffer never grows.
        """
        self.rows = 1
        self.planes: Planes = ()
        self._most = most

    @property
    def slots(self) -> int:
        """Return how many slots are allocated per row."""
        return self.planes[0].shape[2] if self.planes else 0

    @property
    def nbytes(self) -> int:
        """Return the bytes allocated, all rows together."""
        return sum(plane.nbytes for plane in self.planes)

    def write(self, place: Place, new: Planes) -> None:
        """Store ``new``, each ``[rows, kv_heads, width, ...]``, at ``place``.

        The buffer grows where the longest row needs it, and shrinks where that row has left: see ``slots_for``.
        """
        size = slots_for(place.size, self._most)
        held = self.planes or tuple(_empty(plane, self.rows) for plane in new)
        self.planes = tuple(_written(*pair, place, size) for pair in zip(held, new, strict=True))

    def replace(self, held: int, picks: mx.array, new: Planes) -> Planes:
        """Put the first ``held`` slots and ``new`` side by side; store what ``picks`` picks of them.

        Args:
            held: how many slots come first.
            picks: ``[rows, 1, slots, 1]``, indices into the two side by side.
            new: each ``[rows, kv_heads, width, ...]``.

        Returns:
            Old and new side by side, each ``[rows, kv_heads, held + width, ...]``.
        """
        both = new
        if held:
            pairs = zip(self.first(held), new, strict=True)
            both = tuple(mx.concatenate(list(pair), axis=2) for pair in pairs)
        self.planes = tuple(mx.take_along_axis(plane, picks, axis=2) for plane in both)
        return both

    def first(self, slots: int) -> Planes:
        """Return the first ``slots`` slots of every row."""
        if not self.planes:
            raise ValueError("the layer attends to stored keys before any were stored")
        if slots == self.slots:
            return self.planes
        return tuple(plane[:, :, :slots] for plane in self.planes)

    def join(self, other: Self) -> None:
        """Append the rows of ``other``."""
        size, like = max(self.slots, other.slots), self.planes or other.planes
        mine = self.planes or tuple(_empty(plane, self.rows) for plane in like)
        theirs = other.planes or tuple(_empty(plane, other.rows) for plane in like)
        self.planes = tuple(
            mx.concatenate([_sized(plane, size) for plane in pair]) for pair in zip(mine, theirs, strict=True)
        )
        self.rows += other.rows

    def keep(self, rows: Sequence[int]) -> None:
        """Keep only these rows, in this order."""
        if list(rows) == list(range(self.rows)):
            return
        self.rows = len(rows)
        index = mx.array(list(rows), dtype=mx.int32)
        self.planes = tuple(mx.take(plane, index, axis=0) for plane in self.planes)

    def freeze(self, row: int, start: int, end: int, *, ring: int | None = None) -> Snapshot:
        """Return a copy of positions ``start .. end - 1`` of a row, in order.

        Args:
            row: whose they are.
            start: the first of them.
            end: where the row ends.
            ring: position ``p`` is in slot ``p % ring``, and so many last ones are needed; ``None`` = in slot ``p``,
                and all are.
        """
        if ring is None or end <= ring:
            planes = [copied(plane[row : row + 1, :, start:end]) for plane in self.planes]
        else:
            slots = mx.arange(start, end) % ring
            planes = [mx.contiguous(mx.take(plane[row : row + 1], slots, axis=2)) for plane in self.planes]
        return Snapshot(tuple(planes), sum(plane.nbytes for plane in planes), start, ring)

    def thaw(self, snapshot: Snapshot, picks: mx.array | None = None) -> None:
        """Take the arrays of a snapshot, under names of our own; or what ``picks`` picks of them for each slot."""
        self.planes = tuple(
            mx.array(plane) if picks is None else mx.take(plane, picks, axis=2) for plane in snapshot.arrays
        )


def copied(part: mx.array) -> mx.array:
    """Return a copy with memory of its own, rows first; a slice alone would keep the whole of its source alive."""
    return mx.contiguous(part * mx.array(1, dtype=part.dtype))


def _empty(like: mx.array, rows: int) -> mx.array:
    """Return no slots at all, of the kind of ``like``."""
    _, heads, _, width = like.shape
    return mx.zeros((rows, heads, 0, width), dtype=like.dtype)


def _sized(held: mx.array, slots: int) -> mx.array:
    """Fill ``held`` up with zeros to ``slots`` slots, or keep only so many."""
    rows, heads, have, width = held.shape
    if have == slots:
        return held
    if have > slots:
        return held[:, :, :slots]
    missing = mx.zeros((rows, heads, slots - have, width), dtype=held.dtype)
    return missing if have == 0 else mx.concatenate([held, missing], axis=2)


def _written(held: mx.array, new: mx.array, place: Place, size: int) -> mx.array:
    buffer = _sized(held, size)
    if place.slots is not None:
        return mx.put_along_axis(buffer, place.slots, new, axis=2)
    buffer[:, :, place.first : place.first + new.shape[2]] = new
    return buffer
