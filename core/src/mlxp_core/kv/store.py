"""How keys and values are kept and attended to: the one thing in which kinds of caches differ."""

from typing import Protocol

import mlx.core as mx

from mlxp_core.kv.masks import Mask

Planes = tuple[mx.array, ...]
"""Arrays that hold keys and values together, each ``[rows, kv_heads, slots, some width]``."""


class Store(Protocol):
    """A way to keep keys and values. A token's planes depend on that token alone, so they may be cut anywhere."""

    def pack(self, k: mx.array, v: mx.array) -> Planes:
        """Return the planes of ``k`` and ``v``, ``[rows, kv_heads, width, dim]``."""
        ...

    def attend(self, q: mx.array, held: Planes, *, scale: float, mask: Mask) -> mx.array:
        """Attend to what is kept, as it is kept.

        Args:
            q: ``[rows, heads, width, dim]``.
            held: planes of all keys and values.
            scale: multiplies the scores.
            mask: which keys each query sees.

        Returns:
            ``[rows, heads, width, value_dim]``, in the type of ``q``.
        """
        ...


class PlainStore:
    """Keeps keys and values as they are: two planes."""

    def __init__(self, dtype: mx.Dtype) -> None:
        """Keep them as ``dtype``."""
        self._dtype = dtype

    def pack(self, k: mx.array, v: mx.array) -> Planes:
        """Return both, in the type they are kept in."""
        return k.astype(self._dtype), v.astype(self._dtype)

    def attend(self, q: mx.array, held: Planes, *, scale: float, mask: Mask) -> mx.array:
        """Attend in the type of what is kept; see ``Store.attend``."""
        keys, values = held
        out = mx.fast.scaled_dot_product_attention(q.astype(keys.dtype), keys, values, scale=scale, mask=mask)
        return out.astype(q.dtype)
