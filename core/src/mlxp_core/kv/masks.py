"""Which keys a query may see, from positions alone.

Every query sees at least one key, padded ones included, so no softmax is ever taken over nothing.
"""

from typing import Literal

import mlx.core as mx

from mlxp_core.contracts import Positions

Mask = mx.array | Literal["causal"] | None
"""What ``mx.fast.scaled_dot_product_attention`` takes."""


def common_start(at: Positions) -> int | None:
    """Return where all rows stand, or ``None`` when they stand at different places."""
    first = at.starts[0]
    return first if at.starts.count(first) == len(at) else None


def query_positions(at: Positions) -> mx.array:
    """Return the position of every token of this pass: ``[rows, width]``."""
    return at.offset[:, None] + mx.arange(at.width)


def slot_positions(ends: mx.array, slots: int, capacity: int) -> mx.array:
    """Return which position each slot of a ring holds.

    Args:
        ends: ``[rows, 1]``, tokens written to each row.
        slots: how many of the ring's slots to look at.
        capacity: size of the full-grown ring; position ``p`` is in slot ``p % capacity``.

    Returns:
        ``[rows, slots]``; negative where nothing was written yet.
    """
    last = ends - 1
    return last - (last - mx.arange(slots) + capacity) % capacity


def pair_mask(
    keys: mx.array, at: Positions, *, window: int | None = None, overlay: mx.array | None = None
) -> mx.array:
    """Return which pairs of query and key attend: ``((key <= query) & (query - key < window)) | overlay``.

    Args:
        keys: ``[rows, keys]``, the position of each key; negative = nothing is there.
        at: where the queries stand.
        window: how many keys back a query sees, itself included; ``None`` = all.
        overlay: ``[rows, width, width]`` bool, pairs of this pass's tokens allowed besides those, however far apart.

    Returns:
        ``[rows, 1, width, keys]`` bool.
    """
    queries = query_positions(at)[:, :, None]
    keys = keys[:, None, :]
    seen = keys <= queries
    if window is not None:
        seen = seen & (queries - keys < window) & (keys >= 0)
    if overlay is not None:
        seen = seen | _spread(overlay, keys - at.offset[:, None, None])
    return seen[:, None]


def _spread(overlay: mx.array, columns: mx.array) -> mx.array:
    """Lay the columns of ``overlay`` out over the keys: ``columns`` says which one each key is, if any."""
    width = overlay.shape[-1]
    inside = (columns >= 0) & (columns < width)
    return mx.take_along_axis(overlay, mx.clip(columns, 0, width - 1), axis=2) & inside


def causal_mask(width: int, keys: int) -> mx.array:
    """Return which keys the last ``width`` of ``keys`` tokens see, each all up to itself: ``[width, keys]``."""
    queries = mx.arange(keys - width, keys)[:, None]
    return mx.arange(keys)[None] <= queries
