"""Draws by inverting a cumulative distribution, exact enough for vocabularies of hundreds of thousands.

A running float32 sum over 262144 terms adds each tiny term to a number near 1 and rounds alike every time; its error
reaches tenths of a percent of the mass. So long rows are summed in blocks: errors then grow with the block's length
and the number of blocks, not with their product.
"""

import mlx.core as mx

_FLAT = 1024
_BLOCK = 512


def tiles(values: mx.array, block: int, fill: float) -> mx.array:
    """Return ``[rows, n]`` as ``[rows, blocks, block]``, the last block filled up with ``fill``."""
    rows, length = values.shape
    blocks = -(-length // block)
    missing = blocks * block - length
    if missing:
        values = mx.pad(values, [(0, 0), (0, missing)], constant_values=fill)
    return values.reshape(rows, blocks, block)


def mass_before(weights: mx.array) -> mx.array:
    """Return the sum of all that stands before each entry: ``[rows, n]`` -> the same shape."""
    rows, length = weights.shape
    if length <= _FLAT:
        return mx.cumsum(weights, axis=-1, inclusive=False)
    blocks = tiles(weights, _BLOCK, 0.0)
    starts = mx.cumsum(mx.sum(blocks, axis=-1), axis=-1, inclusive=False)
    inside = mx.cumsum(blocks, axis=-1, inclusive=False)
    return (starts[..., None] + inside).reshape(rows, -1)[:, :length]


def invert(weights: mx.array, u: mx.array) -> mx.array:
    """Return where the running sum of ``weights`` passes ``u`` times its total.

    Args:
        weights: ``[rows, n]`` float32, not negative, not all zero; need not sum to 1.
        u: ``[rows]`` float32 in ``[0, 1)``.

    Returns:
        ``[rows]`` int32; an entry of weight zero is never returned, whatever the rounding.
    """
    if weights.shape[-1] <= _FLAT:
        running = mx.cumsum(weights, axis=-1)
        return _first(running > u[:, None] * running[:, -1:], weights > 0)
    blocks = tiles(weights, _BLOCK, 0.0)
    sums = mx.sum(blocks, axis=-1)  # [rows, blocks]
    running = mx.cumsum(sums, axis=-1)
    target = u[:, None] * running[:, -1:]
    block = _first(running > target, sums > 0)[:, None]
    before = mx.take_along_axis(running, mx.maximum(block - 1, 0), axis=-1)
    left = target - mx.where(block > 0, before, 0.0)
    inside = mx.take_along_axis(blocks, block[..., None], axis=1)[:, 0]  # [rows, _BLOCK]
    return block[:, 0] * _BLOCK + _first(mx.cumsum(inside, axis=-1) > left, inside > 0)


def _first(passed: mx.array, possible: mx.array) -> mx.array:
    """Return the first entry that passed and is possible, else the last possible one: ``[rows]`` int32."""
    length = passed.shape[-1]
    places = mx.arange(length, dtype=mx.int32)
    first = mx.min(mx.where(passed & possible, places, length), axis=-1)
    last = mx.max(mx.where(possible, places, 0), axis=-1)
    return mx.where(first < length, first, last).astype(mx.int32)
