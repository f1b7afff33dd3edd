"""Keys and values of one attention layer, side by side, with room to grow.

Arrays change only by rebinding an attribute or by a slice assignment to an array that nobody else names: MLX then
writes in place. Whoever hands an array out, or takes one in, makes a name of its own for it.
"""

from collections.abc import Sequence
from typing import Self

import mlx.core as mx
from msgspec import Struct

from mlxp_core.contracts import Positions, Snapshot
from mlxp_core.kv.masks import Mask, common_start, query_positions

STEP = 256
"""Buffers grow by whole multiples of this many tokens, and at least by a quarter."""


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


def grown(needed: int, have: int, most: int | None = None) -> int:
    """Return the new size of a buffer of ``have`` slots that must hold ``needed``."""
    if needed <= have:
        return have
    size = -(-max(needed, have + have // 4) // STEP) * STEP
    return size if most is None else min(size, most)


def attention(q: mx.array, k: mx.array, v: mx.array, *, scale: float, mask: Mask) -> mx.array:
    """Attend in the type of what is stored, and answer in the query's own."""
    out = mx.fast.scaled_dot_product_attention(q.astype(k.dtype), k, v, scale=scale, mask=mask)
    return out.astype(q.dtype)


class Buffer:
    """``keys`` and ``values``: ``[rows, kv_heads, slots, dim]``; ``None`` until the first pass says their shape."""

    def __init__(self, dtype: mx.Dtype, most: int | None = None) -> None:
        """Hold one row of nothing.

        Args:
            dtype: type of what is stored.
            most: slots beyond which the buffer never grows.
        """
        self.dtype = dtype
        self.rows = 1
        self.keys: mx.array | None = None
        self.values: mx.array | None = None
        self._most = most

    @property
    def slots(self) -> int:
        """Return how many slots are allocated per row."""
        return 0 if self.keys is None else self.keys.shape[2]

    @property
    def nbytes(self) -> int:
        """Return the bytes allocated, all rows together."""
        return 0 if self.keys is None or self.values is None else self.keys.nbytes + self.values.nbytes

    def write(self, place: Place, k: mx.array, v: mx.array) -> None:
        """Store ``k`` and ``v``, ``[rows, kv_heads, width, dim]``, at ``place``, growing where needed."""
        size = grown(place.size, self.slots, self._most)
        self.keys = _written(self.keys, k, place, size, self.dtype)
        self.values = _written(self.values, v, place, size, self.dtype)

    def replace(self, held: int, picks: mx.array, k: mx.array, v: mx.array) -> tuple[mx.array, mx.array]:
        """Put the first ``held`` slots and ``k``, ``v`` side by side; store what ``picks`` picks of them.

        Args:
            held: how many slots come first.
            picks: ``[rows, 1, slots, 1]``, indices into the two side by side.
            k: ``[rows, kv_heads, width, dim]``.
            v: ``[rows, kv_heads, width, value_dim]``.

        Returns:
            Keys and values side by side, ``[rows, kv_heads, held + width, dim]``.
        """
        keys, values = k.astype(self.dtype), v.astype(self.dtype)
        if held:
            old_keys, old_values = self.first(held)
            keys = mx.concatenate([old_keys, keys], axis=2)
            values = mx.concatenate([old_values, values], axis=2)
        self.keys = mx.take_along_axis(keys, picks, axis=2)
        self.values = mx.take_along_axis(values, picks, axis=2)
        return keys, values

    def first(self, slots: int) -> tuple[mx.array, mx.array]:
        """Return keys and values of the first ``slots`` slots of every row."""
        if self.keys is None or self.values is None:
            raise ValueError("the layer attends to stored keys before any were stored")
        if slots == self.slots:
            return self.keys, self.values
        return self.keys[:, :, :slots], self.values[:, :, :slots]

    def join(self, other: Self) -> None:
        """Append the rows of ``other``."""
        size = max(self.slots, other.slots)
        self.keys = _joined(self.keys, other.keys, (self.rows, other.rows), size)
        self.values = _joined(self.values, other.values, (self.rows, other.rows), size)
        self.rows += other.rows

    def keep(self, rows: Sequence[int]) -> None:
        """Keep only these rows, in this order."""
        if list(rows) == list(range(self.rows)):
            return
        self.rows = len(rows)
        if self.keys is not None and self.values is not None:
            index = mx.array(list(rows), dtype=mx.int32)
            self.keys, self.values = mx.take(self.keys, index, axis=0), mx.take(self.values, index, axis=0)

    def freeze(self, row: int, slots: int) -> Snapshot:
        """Return a copy of the first ``slots`` slots of a row."""
        if self.keys is None or self.values is None or slots == 0:
            return Snapshot(arrays=(), nbytes=0)
        arrays = tuple(copied(held[row : row + 1, :, :slots]) for held in (self.keys, self.values))
        return Snapshot(arrays=arrays, nbytes=sum(array.nbytes for array in arrays))

    def thaw(self, snapshot: Snapshot) -> None:
        """Take the arrays of a snapshot, under names of our own."""
        if snapshot.arrays:
            keys, values = snapshot.arrays
            self.keys, self.values = mx.array(keys), mx.array(values)


def copied(part: mx.array) -> mx.array:
    """Return a copy with memory of its own; a slice alone would keep the whole of its source alive."""
    return part * mx.array(1, dtype=part.dtype)


def _sized(held: mx.array | None, shape: tuple[int, ...], dtype: mx.Dtype) -> mx.array:
    """Fill ``held`` up with zeros to ``shape``, ``[rows, kv_heads, slots, dim]``."""
    rows, heads, slots, dim = shape
    if held is None:
        return mx.zeros(shape, dtype=dtype)
    missing = slots - held.shape[2]
    if not missing:
        return held
    return mx.concatenate([held, mx.zeros((rows, heads, missing, dim), dtype=dtype)], axis=2)


def _written(held: mx.array | None, new: mx.array, place: Place, size: int, dtype: mx.Dtype) -> mx.array:
    rows, heads, width, dim = new.shape
    buffer, new = _sized(held, (rows, heads, size, dim), dtype), new.astype(dtype)
    if place.slots is not None:
        return mx.put_along_axis(buffer, place.slots, new, axis=2)
    buffer[:, :, place.first : place.first + width] = new
    return buffer


def _joined(
    one: mx.array | None, other: mx.array | None, rows: tuple[int, int], size: int
) -> mx.array | None:
    like = other if one is None else one
    if like is None:
        return None
    _, heads, _, dim = like.shape
    parts = zip((one, other), rows, strict=True)
    return mx.concatenate([_sized(part, (count, heads, size, dim), like.dtype) for part, count in parts])
