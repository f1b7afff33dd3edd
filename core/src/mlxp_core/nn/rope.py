"""Rotary positions (Su et al.: "RoFormer", 2021), in the variants that families use.

All pair dimension ``j`` with ``j + dims / 2`` ("half-split") and turn the pair by ``position / period[j]``.
"""

import mlx.core as mx

from mlxp_core.contracts import Positions


class Rope:
    """Turn queries and keys by their positions. Not a module: it has nothing to train."""

    def __init__(self, dims: int, base: float, periods: mx.array | None = None) -> None:
        """Turn the first ``dims`` dimensions; ``periods``, ``[dims / 2]``, replace those that ``base`` gives."""
        self._dims, self._base, self._periods = dims, base, periods

    @classmethod
    def plain(cls, head_dim: int, base: float) -> "Rope":
        """Turn all dimensions, with periods ``base ** (2 j / head_dim)``."""
        return cls(head_dim, base)

    @classmethod
    def partial(cls, head_dim: int, base: float, factor: float) -> "Rope":
        """Turn the first ``factor`` of the dimensions as if there were no others; the rest stay as they are."""
        return cls(_even(head_dim * factor), base)

    @classmethod
    def proportional(cls, head_dim: int, base: float, factor: float) -> "Rope":
        """Turn ``factor`` of the pairs, with the periods and the pairing of the whole head; the rest stand still."""
        turned = _even(head_dim * factor) // 2
        periods = base ** (mx.arange(turned, dtype=mx.float32) * (2 / head_dim))
        still = mx.full((head_dim // 2 - turned,), float("inf"))
        return cls(head_dim, base, mx.concatenate([periods, still]))

    def __call__(self, x: mx.array, at: Positions) -> mx.array:
        """Turn ``[rows, heads, width, dim]``, each row from its own start."""
        return mx.fast.rope(
            x,
            self._dims,
            traditional=False,
            base=self._base if self._periods is None else None,
            scale=1.0,
            offset=at.offset,
            freqs=self._periods,
        )


def _even(dims: float) -> int:
    return int(dims) // 2 * 2
