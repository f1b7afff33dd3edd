"""Attention as the textbook has it, over all keys at once: what caches are measured against."""

import mlx.core as mx

HEADS, KV_HEADS = 4, 2


class Row:
    """Keys and values of one row, all of them, in order: ``[kv_heads, length, dim]``."""

    def __init__(self, dim: int) -> None:
        """Hold nothing."""
        self.keys = mx.zeros((KV_HEADS, 0, dim))
        self.values = mx.zeros((KV_HEADS, 0, dim))

    def __len__(self) -> int:
        """Return the number of tokens."""
        return self.keys.shape[1]

    def extend(self, keys: mx.array, values: mx.array) -> None:
        """Append tokens."""
        self.keys = mx.concatenate([self.keys, keys], axis=1)
        self.values = mx.concatenate([self.values, values], axis=1)

    def shorten(self, count: int) -> None:
        """Drop the last ``count`` tokens."""
        length = len(self) - count
        self.keys, self.values = self.keys[:, :length], self.values[:, :length]

    def copy(self) -> "Row":
        """Return a row that goes its own way."""
        row = Row(self.keys.shape[2])
        row.extend(self.keys, self.values)
        return row


def plain_attention(
    queries: mx.array, row: Row, window: int | None, scale: float, overlay: mx.array | None = None
) -> mx.array:
    """Return ``softmax(q k^T * scale) v`` of the row's last tokens: causal, within ``window``, and as ``overlay`` adds.

    Args:
        queries: ``[heads, count, dim]`` of the last ``count`` tokens of ``row``.
        row: all keys and values up to and including them.
        window: tokens a query sees, itself included; ``None`` = all.
        scale: multiplies the scores.
        overlay: ``[count, count]`` bool, pairs of the last tokens allowed besides, however far apart.

    Returns:
        ``[heads, count, dim]``.
    """
    heads, count, _ = queries.shape
    length = len(row)
    i = mx.arange(length - count, length)[:, None]
    j = mx.arange(length)[None]
    seen = j <= i
    if window is not None:
        seen = seen & (i - j < window)
    if overlay is not None:
        before = mx.zeros((count, length - count), dtype=mx.bool_)
        seen = seen | mx.concatenate([before, overlay], axis=1)
    keys, values = (mx.repeat(part, heads // KV_HEADS, axis=0) for part in (row.keys, row.values))
    scores = mx.where(seen, queries @ keys.swapaxes(1, 2) * scale, -float("inf"))
    return mx.softmax(scores, axis=2) @ values
