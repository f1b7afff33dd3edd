"""Keys and values of a layer that sees the last ``window`` tokens: a ring.

Position ``p`` lives in slot ``p % capacity``, with ``capacity = window + slack``. The slack lets a few tokens be
written over the oldest ones, and a row go back that far, without losing a key that somebody still sees.

A pass takes one of two ways:

*In place*: it overwrites nothing that its own queries see. It writes to the ring, then attends to the ring.
*Beside*: it is too wide for that. It attends to the old ring and the new tokens side by side, then picks the new ring
out of both. Padding never enters the ring.
"""

from collections.abc import Callable, Sequence
from typing import Self

import mlx.core as mx
from msgspec import Struct

from mlxp_core.contracts import Positions, Snapshot
from mlxp_core.kv.buffer import Buffer, Place, place_tokens
from mlxp_core.kv.masks import Mask, common_start, pair_mask, query_positions, slot_positions
from mlxp_core.kv.store import Planes, Store
from mlxp_core.types import slots_for


class InPlace(Struct, frozen=True):
    """Write to ``place``, then attend to the first ``keys`` slots through ``mask``."""

    place: Place
    keys: int
    mask: Mask
    overlay: mx.array | None


class Beside(Struct, frozen=True):
    """Attend to ``held`` old slots and the new tokens through ``mask``; then ``picks`` of both are the ring.

    ``picks`` is ``[rows, 1, slots, 1]``, indices into old slots and new tokens side by side.
    """

    held: int
    mask: Mask
    picks: mx.array
    overlay: mx.array | None


def plan_pass(at: Positions, window: int, capacity: int, overlay: mx.array | None) -> InPlace | Beside:
    """Decide how this pass writes and attends."""
    end = max(at.starts) + at.width
    if end <= capacity or at.width <= capacity - window + 1:
        return _in_place(at, window, capacity, overlay)
    return _beside(at, window, capacity, overlay)


def _in_place(at: Positions, window: int, capacity: int, overlay: mx.array | None) -> InPlace:
    place, start = place_tokens(at, ring=capacity), common_start(at)
    if start is not None and overlay is None and start + at.width <= window:
        return InPlace(place, start + at.width, None if at.width == 1 else "causal", overlay)
    keys = slot_positions(at.offset[:, None] + at.width, place.size, capacity)
    return InPlace(place, place.size, pair_mask(keys, at, window=window, overlay=overlay), overlay)


def _beside(at: Positions, window: int, capacity: int, overlay: mx.array | None) -> Beside:
    starts = at.offset[:, None]
    held = min(max(at.starts), capacity)
    keys = mx.concatenate([slot_positions(starts, held, capacity), query_positions(at)], axis=1)
    ends = starts + mx.array(at.counts, dtype=mx.int32)[:, None]
    longest = max(start + count for start, count in zip(at.starts, at.counts, strict=True))
    slots = slots_for(max(longest, held), capacity)
    after = slot_positions(ends, slots, capacity)
    old = mx.minimum(mx.arange(slots), max(held - 1, 0))
    picks = mx.where(after >= starts, held + after - starts, old)
    return Beside(held, pair_mask(keys, at, window=window, overlay=overlay), picks[:, None, :, None], overlay)


class SlidingCache:
    """An ``AttentionCache`` over a ring. An ``overlay`` may reach beyond the window: all of its pass is at hand."""

    def __init__(self, store: Store, window: int, slack: int) -> None:
        """Make an empty cache for one row.

        Args:
            store: how keys and values are kept.
            window: tokens a query sees, itself included.
            slack: tokens a row can always go back by.
        """
        self._store = store
        self._window, self._slack = window, slack
        self._capacity = window + slack
        self.held = Buffer(self._capacity)

    def attend(
        self,
        q: mx.array,
        k: mx.array | None,
        v: mx.array | None,
        at: Positions,
        *,
        scale: float,
        overlay: mx.array | None = None,
    ) -> mx.array:
        """Store this pass's keys and values, and attend; see ``AttentionCache.attend``."""
        window, capacity = self._window, self._capacity
        plan = at.once(
            ("sliding", window, capacity, id(overlay)), lambda: plan_pass(at, window, capacity, overlay)
        )
        match plan:
            case InPlace(place=place, keys=slots):
                if k is not None and v is not None:
                    self.held.write(place, self._store.pack(k, v))
                held = self.held.first(slots)
            case Beside():
                held = at.once(("beside", id(self)), lambda: self._beside(plan, k, v))
        return self._store.attend(q, held, scale=scale, mask=plan.mask)

    def _beside(self, plan: Beside, k: mx.array | None, v: mx.array | None) -> Planes:
        if k is None or v is None:
            raise ValueError("the layer attends to this pass's keys before any were stored")
        return self.held.replace(plan.held, plan.picks, self._store.pack(k, v))

    def join(self, other: Self) -> None:
        """Append the rows of ``other``."""
        self.held.join(other.held)

    def keep(self, rows: Sequence[int]) -> None:
        """Keep only these rows, in this order."""
        self.held.keep(rows)

    def can_trim(self, row: int, to: int, reached: int) -> bool:  # noqa: ARG002  # the contract's signature
        """Say yes while no key that the shorter row sees has been overwritten."""
        return reached <= self._capacity or reached - to <= self._slack

    def trim(self, row: int, to: int) -> None:
        """Do nothing: what lies beyond a row's length is never looked at."""

    def mark(self) -> Callable[[], None]:
        """Return what does nothing: what lies beyond a row's length is never looked at."""
        return lambda: None

    def freeze(self, row: int, length: int, start: int = 0) -> Snapshot:
        """Return a copy of those of positions ``start .. length - 1`` that the row's ring holds, in order.

        In a row that has been further on (``BatchCache.trim``), the first of them may be overwritten. No query sees
        those, nor may the thawed row go back to where it would.
        """
        first = max(start, length - self._capacity, 0)
        return self.held.freeze(row, first, length, ring=self._capacity)

    def thaw(self, snapshot: Snapshot) -> Self:
        """Return a one-row cache that holds ``snapshot``."""
        thawed = type(self)(self._store, self._window, self._slack)
        thawed.held.thaw(snapshot, self._picks(snapshot) if snapshot.first and snapshot.arrays else None)
        return thawed

    def _picks(self, snapshot: Snapshot) -> mx.array:
        """Return for each slot of a ring that has wrapped which of the snapshot's tokens belongs there."""
        first = snapshot.first or 0
        end = mx.array([[first + snapshot.arrays[0].shape[2]]])
        return mx.maximum(slot_positions(end, self._capacity, self._capacity)[0] - first, 0)

    @property
    def nbytes(self) -> int:
        """Return the bytes allocated now."""
        return self.held.nbytes
