"""Between the width of a network and the heads of its attention."""

import mlx.core as mx


def split_heads(x: mx.array, heads: int) -> mx.array:
    """Return ``[rows, width, heads * dim]`` as ``[rows, heads, width, dim]``."""
    rows, width, _ = x.shape
    return x.reshape(rows, width, heads, -1).swapaxes(1, 2)


def merge_heads(x: mx.array) -> mx.array:
    """Return ``[rows, heads, width, dim]`` as ``[rows, width, heads * dim]``."""
    rows, _, width, _ = x.shape
    return x.swapaxes(1, 2).reshape(rows, width, -1)
