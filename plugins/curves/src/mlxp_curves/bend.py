"""Curves over the log-probabilities of a batch, each row its own."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING

import mlx.core as mx

from mlxp_curves.curve import Curve, spline

if TYPE_CHECKING:
    from mlxp_core.contracts.sampling import LogitsMap


def bend(curves: Sequence[Curve]) -> LogitsMap:
    """Return the map of rows with these curves.

    A row's piece is found by counting the points at or below the log-probability. Rows with fewer points than others
    have further ones at infinity, so that no row's numbers hang on its neighbours'.
    """
    splines = [spline(curve) for curve in curves]
    starts = _columns([list(each.starts) for each in splines], mx.inf)
    tables = [
        _table([[getattr(piece, name) for piece in each.pieces] for each in splines])
        for name in ("origin", "value", "slope", "square", "cube")
    ]

    def apply(rows: mx.array) -> mx.array:
        """Bend ``[rows, n]`` float32 log-probabilities."""
        impossible = mx.isneginf(rows)
        u = mx.where(impossible, 0.0, rows)
        at = sum((u >= start for start in starts), mx.zeros(rows.shape, dtype=mx.int32))
        origin, value, slope, square, cube = (mx.take_along_axis(table, at, axis=-1) for table in tables)
        t = u - origin
        bent = value + t * (slope + t * (square + t * cube))
        return mx.where(impossible, -mx.inf, bent)

    return apply


def _columns(rows: list[list[float]], fill: float) -> list[mx.array]:
    """Return ``[rows, 1]`` arrays, one for each place in the longest row."""
    return [mx.array(column, dtype=mx.float32)[:, None] for column in zip_longest(*rows, fillvalue=fill)]


def _table(rows: list[list[float]]) -> mx.array:
    """Return ``[rows, longest]``, short rows filled with zeros."""
    return mx.concatenate(_columns(rows, 0.0), axis=-1)
