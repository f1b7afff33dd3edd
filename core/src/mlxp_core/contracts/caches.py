"""What every kind of cache promises, so that models and the engine never ask a cache what kind it is.

Batches are padded on the right: row ``r`` owns positions ``0 .. length[r] - 1``. Lengths are kept once, outside the
layers (``mlxp_core.kv.BatchCache``), and reach a layer with each pass as ``Positions``. What lies beyond a row's
length is rubbish that no row ever attends to, and the next write covers it; so going back means shortening a length.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Protocol, Self, TypeVar

from msgspec import Struct

if TYPE_CHECKING:
    import mlx.core as mx

Made = TypeVar("Made")


class Positions(Protocol):
    """Where the rows stand in one forward pass; shared by all layers, which may keep masks in it."""

    starts: tuple[int, ...]
    """Tokens each row holds before this pass."""

    counts: tuple[int, ...]
    """Real new tokens of each row, 0 .. ``width``."""

    width: int
    """Tokens per row in this pass, padding included."""

    offset: mx.array
    """``starts`` on the device: ``[rows]`` int32, ready for RoPE."""

    valid: mx.array | None
    """``[rows, width]`` bool, true for real tokens; ``None`` when all are real."""

    revocable: bool
    """Whether rows may go back into this pass afterwards: layers of state then ``StateCache.remember`` it."""

    def __len__(self) -> int:
        """Return the number of rows."""
        ...

    def once(self, key: Hashable, make: Callable[[], Made]) -> Made:
        """Return what ``make`` returns, made once in this pass for each ``key``: masks and tables of all layers."""
        ...


class Snapshot(Struct, frozen=True):
    """One row of one layer, frozen. Opaque to all but its kind, but for what ``first`` says.

    Attributes:
        arrays: nobody changes them any more.
        nbytes: bytes of them.
        first: where tokens lie side by side, the position of the first one in the arrays: each is
            ``[1, heads, tokens, ...]``, the last token being the row's last. So parts of them can be kept apart, shared
            and put together again by anyone. ``None`` = the row is held as a whole, and only as a whole.
        window: with ``first``, how many of the row's last tokens it takes to go on; ``None`` = all.
    """

    arrays: tuple[mx.array, ...]
    nbytes: int
    first: int | None = None
    window: int | None = None


class LayerCache(Protocol):
    """What the engine needs of every kind of cache. Made for one row; batches grow by ``join``."""

    def join(self, other: Self) -> None:
        """Append the rows of ``other``."""
        ...

    def keep(self, rows: Sequence[int]) -> None:
        """Keep only these rows, in this order."""
        ...

    def can_trim(self, row: int, to: int, reached: int) -> bool:
        """Say whether a row can go back to its first ``to`` tokens, which are fewer than it has.

        ``reached`` is the furthest the row ever was: whatever a ring wrote there, it has overwritten something.
        """
        ...

    def trim(self, row: int, to: int) -> None:
        """Go back as ``can_trim`` allowed; where shortening the row's length is all there is to do, do nothing."""
        ...

    def mark(self) -> Callable[[], None]:
        """Return what brings all rows back to where they stand now, whatever passes come in between.

        Those read no more than the slack of a ring, all together, and no row comes or goes. Where shortening the rows'
        lengths is all there is to do, it does nothing.
        """
        ...

    def freeze(self, row: int, length: int, start: int = 0) -> Snapshot:
        """Return the first ``length`` tokens' worth of a row, safe from later writes.

        Tokens before ``start`` are left out where the snapshot has a ``first``; others take no notice of it.
        """
        ...

    def thaw(self, snapshot: Snapshot) -> Self:
        """Return a one-row cache of this kind holding ``snapshot``; ``self`` is an empty one of the same layer.

        Where the snapshot has a ``first``, all tokens within its ``window`` are there, whoever put it together.
        """
        ...

    @property
    def nbytes(self) -> int:
        """Return the bytes allocated now, all rows together."""
        ...


class AttentionCache(LayerCache, Protocol):
    """Keys and values of one attention layer; the cache attends, so each kind keeps its own mathematics."""

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
        """Store this pass's keys and values, and attend to all that each query may see.

        Args:
            q: ``[rows, heads, width, dim]``, rotated.
            k: ``[rows, kv_heads, width, dim]``, rotated; ``None`` = attend again to what this pass stored
                (layers that share keys and values).
            v: ``[rows, kv_heads, width, value_dim]``; ``None`` together with ``k``.
            at: where the rows stand.
            scale: multiplies the scores.
            overlay: ``[rows, width, width]`` bool, pairs of this pass's tokens allowed besides those the layer sees by
                itself (causal, within its window), however far apart they are.

        Returns:
            ``[rows, heads, width, value_dim]``; padded queries hold rubbish.
        """
        ...


class StateCache(LayerCache, Protocol):
    """State of fixed size (recurrent, convolution). The layer reads ``state`` and sets it anew each pass.

    The layer must leave the state of a row untouched by padding: see ``Positions.valid``.
    """

    state: tuple[mx.array, ...]
    """Each ``[rows, ...]``; zeros at first."""

    def remember(self, at: Positions, after: Callable[[mx.array], tuple[mx.array, ...]]) -> None:
        """Make it possible to go back into the pass whose ``state`` has just been set; until ``state`` is set anew.

        A layer that does not call it cannot go back, and keeps its network from speculating.

        Args:
            at: the pass.
            after: returns the state that the pass leaves of its first ``counts`` tokens, ``[rows]`` int32. It may
                keep what the pass began from and what it read; most often it is never called.
        """
        ...


class KVPolicy(Protocol):
    """Makes the caches a model asks for, of the kind the operator chose (plain, quantized).

    ``layer`` is the number of the cache among the network's: what ``layer_idx`` of kv_config.json means.
    """

    @property
    def scheme(self) -> str:
        """Return how every layer keeps its keys and values; rows frozen under another scheme cannot be thawed."""
        ...

    def full(self, layer: int) -> AttentionCache:
        """Return a cache for a layer that attends to everything before it."""
        ...

    def sliding(self, layer: int, window: int) -> AttentionCache:
        """Return a cache for a layer that sees the last ``window`` tokens, itself included."""
        ...

    def state(self, layer: int, shapes: Sequence[tuple[int, ...]], dtypes: Sequence[mx.Dtype]) -> StateCache:
        """Return a cache for state of these shapes (without the row axis)."""
        ...
