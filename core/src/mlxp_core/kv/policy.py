"""The kinds of caches an operator can choose; so far, the plain one."""

from collections.abc import Sequence

import mlx.core as mx

from mlxp_core.kv.full import FullCache
from mlxp_core.kv.recurrent import RecurrentCache
from mlxp_core.kv.sliding import SlidingCache

SLACK = 16
"""Tokens by which a row of a sliding layer can always go back."""


class PlainPolicy:
    """A ``KVPolicy`` that stores keys and values as they are."""

    def __init__(self, dtype: mx.Dtype, *, slack: int = SLACK) -> None:
        """Store keys and values as ``dtype``; let sliding layers go back by ``slack`` tokens."""
        self._dtype, self._slack = dtype, slack

    def full(self, layer: int) -> FullCache:  # noqa: ARG002  # every layer alike
        """Return a cache for a layer that attends to everything before it."""
        return FullCache(self._dtype)

    def sliding(self, layer: int, window: int) -> SlidingCache:  # noqa: ARG002  # every layer alike
        """Return a cache for a layer that sees the last ``window`` tokens, itself included."""
        return SlidingCache(self._dtype, window, self._slack)

    def state(
        self,
        layer: int,  # noqa: ARG002  # every layer alike
        shapes: Sequence[tuple[int, ...]],
        dtypes: Sequence[mx.Dtype],
    ) -> RecurrentCache:
        """Return a cache for state of these shapes, without the row axis."""
        return RecurrentCache(shapes, dtypes)
