"""Caches that keep nothing but the pass they are in: a network reads rows from their beginning, and is differentiated.

Rows are padded on the right, which nothing before the padding sees. Several short rows may share one (packing): then
each token has a segment, and sees its own alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Self

import mlx.core as mx

from mlxp_core.contracts import LanguageModel, Positions, Snapshot
from mlxp_core.kv import BatchCache, forward
from mlxp_lab.jobs import JobFailed


class _Pass:
    """What caches of one pass have in common: they are never kept, cut or stored."""

    def join(self, other: Self) -> None:
        """Do nothing: rows come with the pass."""

    def keep(self, rows: Sequence[int]) -> None:
        """Do nothing, as above."""

    def can_trim(self, row: int, to: int, reached: int) -> bool:  # noqa: ARG002  # the contract's signature
        """Say no."""
        return False

    def trim(self, row: int, to: int) -> None:
        """Do nothing, as above."""

    def freeze(self, row: int, length: int, start: int = 0) -> Snapshot:
        """Refuse."""
        raise NotImplementedError

    def thaw(self, snapshot: Snapshot) -> Self:
        """Refuse."""
        raise NotImplementedError

    def mark(self) -> Callable[[], None]:
        """Return what does nothing, as above."""
        return lambda: None

    @property
    def nbytes(self) -> int:
        """Return 0: what a pass holds is its own."""
        return 0


class PassAttention(_Pass):
    """An ``AttentionCache`` of one pass.

    Attributes:
        held: keys and values of the pass, for layers that share them; nothing before the layer's own.
    """

    def __init__(self, window: int | None, segments: mx.array | None) -> None:
        """Begin a pass.

        Args:
            window: tokens a query sees, itself included; ``None`` = all before it.
            segments: ``[rows, width]``, which row each token was of; ``None`` = rows are whole.
        """
        self._window, self._segments = window, segments
        self.held: tuple[mx.array, ...] = ()

    def attend(
        self,
        q: mx.array,
        k: mx.array | None,
        v: mx.array | None,
        at: Positions,
        *,
        scale: float,
        overlay: mx.array | None = None,  # noqa: ARG002  # of images, which rows have none of
    ) -> mx.array:
        """Attend to this pass; see ``AttentionCache.attend``."""
        if k is not None and v is not None:
            self.held = (k, v)
        keys, values = self.held
        mask = at.once(("pass", self._window), lambda: self._mask(at.width))
        return mx.fast.scaled_dot_product_attention(q, keys, values, scale=scale, mask=mask)

    def _mask(self, width: int) -> mx.array | str:
        """Return which pairs of query and key attend: ``[rows or 1, 1, width, width]``."""
        whole = self._window is None or width <= self._window
        if whole and self._segments is None:
            return "causal"
        places = mx.arange(width)
        apart = places[:, None] - places[None]
        seen = (apart >= 0)[None, None]
        if self._window is not None:
            seen = seen & (apart < self._window)
        if self._segments is not None:
            seen = seen & (self._segments[:, None, :, None] == self._segments[:, None, None, :])
        return seen


class PassState(_Pass):
    """A ``StateCache`` of one pass: zeros before it."""

    def __init__(self, state: tuple[mx.array, ...]) -> None:
        """Begin a pass with ``state``, ``[rows, ...]`` each."""
        self.state = state

    def remember(self, at: Positions, after: object) -> None:
        """Do nothing: nobody goes back."""


class PassPolicy:
    """A ``KVPolicy`` whose caches are made anew for each pass."""

    scheme = "one pass"

    def __init__(self, rows: int, segments: mx.array | None = None) -> None:
        """Serve a pass over so many rows; ``segments``, ``[rows, width]``: which row each token was of."""
        self._rows, self._segments = rows, segments

    def full(self, layer: int) -> PassAttention:  # noqa: ARG002  # every layer alike
        """Return a cache for a layer that attends to everything before it."""
        return PassAttention(None, self._segments)

    def sliding(self, layer: int, window: int) -> PassAttention:  # noqa: ARG002  # every layer alike
        """Return a cache for a layer that sees the last ``window`` tokens, itself included."""
        return PassAttention(window, self._segments)

    def state(
        self,
        layer: int,  # noqa: ARG002  # every layer alike
        shapes: Sequence[tuple[int, ...]],
        dtypes: Sequence[mx.Dtype],
    ) -> PassState:
        """Return a cache for state of these shapes, without the row axis.

        Raises:
            JobFailed: rows are packed, and what one leaves would reach the next.
        """
        if self._segments is not None:
            raise JobFailed(
                "layers of this model carry state from token to token, so rows cannot be packed; leave pack off"
            )
        pairs = zip(shapes, dtypes, strict=True)
        return PassState(tuple(mx.zeros((self._rows, *shape), dtype=dtype) for shape, dtype in pairs))


def hidden_states(model: LanguageModel, tokens: mx.array, segments: mx.array | None = None) -> mx.array:
    """Read rows from their beginning.

    Args:
        model: the network.
        tokens: ``[rows, width]`` int32, padded on the right.
        segments: ``[rows, width]``, which row each token was of, where rows are packed.

    Returns:
        Hidden states ``[rows, width, hidden]``; rubbish where a row is padded.
    """
    rows = tokens.shape[0]
    policy = PassPolicy(rows, segments)
    cache = BatchCache(model.make_caches(policy))
    for _ in range(rows - 1):
        cache.join(BatchCache(model.make_caches(policy)))
    return forward(model, cache, tokens)
