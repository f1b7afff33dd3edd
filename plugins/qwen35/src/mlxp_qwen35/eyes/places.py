"""Where patches are: by learned positions, between which an image's own lie, and by turning heads two ways."""

import mlx.core as mx

Grid = tuple[int, int]
"""(rows, columns) of patches."""

Turn = tuple[mx.array, mx.array]
"""Cosines and sines, ``[patches, dim / 2]`` float32."""


def spread(table: mx.array, grid: Grid) -> mx.array:
    """Stretch a square of learned positions over an image; its corners are the image's corners.

    Args:
        table: ``[side * side, hidden]``, row by row.
        grid: of the image.

    Returns:
        ``[patches, hidden]`` float32, row by row, each between its four neighbours (bilinear).
    """
    side = round(len(table) ** 0.5)
    square = table.astype(mx.float32).reshape(side, side, -1)
    for axis, count in enumerate(grid):
        square = _stretched(square, axis, count)
    return square.reshape(grid[0] * grid[1], -1)


def _stretched(square: mx.array, axis: int, count: int) -> mx.array:
    """Return ``count`` entries along an axis, evenly spaced from the first to the last."""
    last = square.shape[axis] - 1
    places = mx.linspace(0, last, count)
    below = mx.minimum(mx.floor(places).astype(mx.int32), last)
    share = mx.expand_dims(places - below, [other for other in range(3) if other != axis])
    low, high = (mx.take(square, at, axis=axis) for at in (below, mx.minimum(below + 1, last)))
    return low * (1 - share) + high * share


def turn_of(grid: Grid, dim: int, theta: float) -> Turn:
    """Return what turns heads by row and column (Su et al.: "RoFormer", 2021, on two axes).

    Of the ``dim / 2`` pairs of a head, the first half turns by the patch's row and the second by its column, each with
    the periods that a head of ``dim / 2`` dimensions has.
    """
    rows, columns = grid
    quarter = dim // 4
    frequencies = theta ** (mx.arange(quarter, dtype=mx.float32) * (-1 / quarter))
    down, across = (mx.arange(count, dtype=mx.float32)[:, None] * frequencies for count in grid)
    shape = (rows, columns, quarter)
    both = [mx.broadcast_to(down[:, None], shape), mx.broadcast_to(across[None], shape)]
    angles = mx.concatenate(both, axis=-1).reshape(rows * columns, 2 * quarter)
    return mx.cos(angles), mx.sin(angles)


def turned(x: mx.array, turn: Turn) -> mx.array:
    """Turn ``[1, heads, patches, dim]``, dimension ``j`` paired with ``j + dim / 2``; computed in float32."""
    (cos, sin), (left, right) = turn, mx.split(x.astype(mx.float32), 2, axis=-1)
    return mx.concatenate([left * cos - right * sin, right * cos + left * sin], axis=-1).astype(x.dtype)
