"""The parametric curve: straight around a pivot, logarithmic beyond.

With ``z = l - pivot``, width ``w``, shoulder ``a`` and toe ``b``:

- ``z >= w`` and ``a > 0``: ``w + a ln(1 + (z - w) / a)``;
- ``z < -w`` and ``b > 0``: ``-w - b ln(1 + (-z - w) / b)``;
- else ``z``.

The slope is 1 at the knots and ``a / (a + d)`` a distance ``d`` beyond.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import mlx.core as mx

from mlxp_curves.hlg import Hlg

if TYPE_CHECKING:
    from mlxp_core.contracts.sampling import LogitsMap

_LEAST = 1e-9  # what a logarithm is taken of, at least


def top(rows: mx.array) -> mx.array:
    """Return the log-probability of the likeliest token: ``[rows, 1]``."""
    return mx.max(rows, axis=-1, keepdims=True)


def entropy(rows: mx.array) -> mx.array:
    """Return the mean log-probability, minus the entropy: ``[rows, 1]``."""
    return mx.sum(mx.where(mx.isneginf(rows), 0.0, mx.exp(rows) * rows), axis=-1, keepdims=True)


def median(rows: mx.array) -> mx.array:
    """Return the log-probability of the first token, likeliest first, with half of the mass behind it or at it."""
    falling = -mx.sort(-rows, axis=-1)
    first = mx.argmax(mx.cumsum(mx.exp(falling), axis=-1) >= 0.5, axis=-1, keepdims=True)  # noqa: PLR2004  # half
    return mx.take_along_axis(falling, first, axis=-1)


PIVOTS: Mapping[str, Callable[[mx.array], mx.array]] = {"top": top, "entropy": entropy, "median": median}


def roll_off(settings: Sequence[Hlg]) -> LogitsMap:
    """Return the map of rows with these settings; a row that is to stay straight stays bit for bit."""
    width, shoulder, toe, offset = (
        mx.array([getattr(row, name) for row in settings], dtype=mx.float32)[:, None]
        for name in ("width", "shoulder", "toe", "pivot_offset")
    )
    straight = mx.array([row.straight for row in settings])[:, None]
    pivots = {name: mx.array([row.pivot == name for row in settings])[:, None] for name in PIVOTS}
    used = {row.pivot for row in settings}

    def apply(rows: mx.array) -> mx.array:
        base = mx.zeros((rows.shape[0], 1))
        for name in sorted(used):
            base = mx.where(pivots[name], PIVOTS[name](rows), base)
        z = rows - (base - offset)
        bent = mx.where((z >= width) & (shoulder > 0), width + _log(z - width, shoulder), z)
        bent = mx.where((z < -width) & (toe > 0), -width - _log(-z - width, toe), bent)
        return mx.where(straight, rows, bent)

    return apply


def _log(beyond: mx.array, softness: mx.array) -> mx.array:
    """Return ``softness ln(1 + beyond / softness)``; not looked at where the softness is 0."""
    safe = mx.where(softness > 0, softness, 1.0)
    return softness * mx.log(mx.maximum(1 + beyond / safe, _LEAST))
