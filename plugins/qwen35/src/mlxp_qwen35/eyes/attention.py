"""Attention of every patch to all of an image, in memory that does not grow with the square of its patches.

Where MLX has a fused kernel, scores are never kept; on Metal there is one for the head widths in ``FUSED``, so that
heads in between are padded with zeros, which change neither scores nor sums. Elsewhere scores are kept for a slice of
the queries at a time, and each slice is computed before the next is begun: MLX allocates ahead of what it computes.
"""

import mlx.core as mx

from mlxp_qwen35.eyes.need import SCORES, padded


def attend(q: mx.array, k: mx.array, v: mx.array, *, scores: int = SCORES) -> mx.array:
    """Attend without a mask; scores are scaled by the root of the head's width.

    Args:
        q: ``[1, heads, patches, dim]``.
        k: the same shape.
        v: the same shape.
        scores: how many may be kept at a time, if there is no fused kernel.

    Returns:
        ``[1, heads, patches, dim]``.
    """
    _, heads, patches, dim = q.shape
    room = padded(dim) - dim
    if room:
        q, k, v = (mx.pad(part, [(0, 0), (0, 0), (0, 0), (0, room)]) for part in (q, k, v))
    step = max(1, scores // (heads * patches))
    if step >= patches:
        return mx.fast.scaled_dot_product_attention(q, k, v, scale=dim**-0.5)[..., :dim]
    parts = []
    for begin in range(0, patches, step):
        part = mx.fast.scaled_dot_product_attention(q[:, :, begin : begin + step], k, v, scale=dim**-0.5)
        mx.eval(part)
        parts.append(part)
    return mx.concatenate(parts, axis=2)[..., :dim]
