"""Keys and values of a layer that attends to everything before it."""

from collections.abc import Callable, Sequence
from typing import Self

import mlx.core as mx
from msgspec import Struct

from mlxp_core.contracts import Positions, Snapshot
from mlxp_core.kv.buffer import Buffer, Place, place_tokens
from mlxp_core.kv.masks import Mask, common_start, pair_mask
from mlxp_core.kv.store import Store


class Plan(Struct, frozen=True):
    """What all full layers of one pass share.

    Attributes:
        place: where the pass writes.
        keys: how many slots it attends to.
        mask: which of them each query sees.
        overlay: what the mask was made with, so that its identity stays a key.
    """

    place: Place
    keys: int
    mask: Mask
    overlay: mx.array | None


def plan_pass(at: Positions, overlay: mx.array | None) -> Plan:
    """Decide how this pass writes and attends."""
    place, start = place_tokens(at), common_start(at)
    if start is not None and overlay is None:
        return Plan(place, start + at.width, None if at.width == 1 else "causal", overlay)
    longest = max(start + count for start, count in zip(at.starts, at.counts, strict=True))
    keys = max(1, longest)
    return Plan(place, keys, pair_mask(mx.arange(keys)[None], at, overlay=overlay), overlay)


class FullCache:
    """An ``AttentionCache``: position ``p`` of every row is in slot ``p``."""

    def __init__(self, store: Store) -> None:
        """Make an empty cache for one row; ``store`` says how keys and values are kept."""
        self._store = store
        self.held = Buffer()

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
        plan = at.once(("full", id(overlay)), lambda: plan_pass(at, overlay))
        if k is not None and v is not None:
            self.held.write(plan.place, self._store.pack(k, v))
        return self._store.attend(q, self.held.first(plan.keys), scale=scale, mask=plan.mask)

    def join(self, other: Self) -> None:
        """Append the rows of ``other``."""
        self.held.join(other.held)

    def keep(self, rows: Sequence[int]) -> None:
        """Keep only these rows, in this order."""
        self.held.keep(rows)

    def can_trim(self, row: int, to: int, reached: int) -> bool:  # noqa: ARG002  # the contract's signature
        """Say yes: nothing is ever overwritten before it is given up."""
        return True

    def trim(self, row: int, to: int) -> None:
        """Do nothing: what lies beyond a row's length is never looked at."""

    def mark(self) -> Callable[[], None]:
        """Return what does nothing: what lies beyond a row's length is never looked at."""
        return lambda: None

    def freeze(self, row: int, length: int, start: int = 0) -> Snapshot:
        """Return a copy of positions ``start .. length - 1`` of a row."""
        return self.held.freeze(row, start, length)

    def thaw(self, snapshot: Snapshot) -> Self:
        """Return a one-row cache that holds ``snapshot``."""
        thawed = type(self)(self._store)
        thawed.held.thaw(snapshot)
        return thawed

    @property
    def nbytes(self) -> int:
        """Return the bytes allocated now."""
        return self.held.nbytes
