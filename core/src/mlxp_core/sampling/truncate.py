"""Candidates, likeliest first, and which of them top_p, top_k and min_p leave.

Seen likeliest first, each of the three keeps a prefix, so it never matters to one what another has cut away, and the
widest ``top_k`` says how many candidates are needed at all.
"""

import math
from collections.abc import Sequence

import mlx.core as mx

from mlxp_core.sampling.chain import Recipe
from mlxp_core.sampling.inverse import mass_before, tiles


def likeliest(values: mx.array, width: int) -> tuple[mx.array, mx.array]:
    """Return the ``width`` greatest entries of each row, greatest first, equal ones by lowest id.

    A sort of the whole row is avoided where that pays: the ``width`` best entries lie in the ``width`` blocks whose
    best entries are best (of equal blocks, the first), because each of those holds an entry at least as good as
    anything elsewhere. So the blocks are sorted by their maxima, then only the entries of the chosen ones.

    Args:
        values: ``[rows, n]``; minus infinity allowed.
        width: how many; more than ``n`` means ``n``.

    Returns:
        The entries ``[rows, width]`` and their ids, ``[rows, width]`` int32.
    """
    rows, length = values.shape
    width = min(width, length)
    block = 1 << max(0, round(math.log2(length / width) / 2))  # least work where both sorts are about as long
    if block == 1 or length // block + width * block > length // 2:
        order = mx.argsort(-values, axis=-1)[:, :width]
        return mx.take_along_axis(values, order, axis=-1), order.astype(mx.int32)
    blocks = tiles(values, block, -math.inf)
    best = mx.argsort(-mx.max(blocks, axis=-1), axis=-1)[:, :width]
    chosen = mx.sort(best, axis=-1).astype(mx.int32)[
        ..., None
    ]  # back in the order of ids, for the stable sort below
    pool = mx.take_along_axis(blocks, chosen, axis=1).reshape(rows, -1)
    ids = (chosen * block + mx.arange(block, dtype=mx.int32)).reshape(rows, -1)
    order = mx.argsort(-pool, axis=-1)[:, :width]
    return mx.take_along_axis(pool, order, axis=-1), mx.take_along_axis(ids, order, axis=-1)


class Cuts:
    """The truncations of some rows as arrays ``[rows, 1]``; what no row uses is absent and costs nothing."""

    def __init__(self, recipes: Sequence[Recipe]) -> None:
        """Gather the settings of the rows."""
        self._top_p = _column([recipe.top_p or 2.0 for recipe in recipes], neutral=2.0)
        self._top_k = _column([recipe.top_k or _ALL for recipe in recipes], neutral=_ALL)
        self._log_min_p = _column([_log(recipe.min_p) for recipe in recipes], neutral=-math.inf)

    def shorten(self, values: mx.array) -> mx.array:
        """Return unsorted ``values`` ``[rows, n]`` with what ``min_p`` alone cuts at minus infinity."""
        if self._log_min_p is None:
            return values
        top = mx.max(values, axis=-1, keepdims=True)
        return mx.where(values - top >= self._log_min_p, values, -math.inf)

    def keep(self, sorted_values: mx.array, everything: mx.array) -> mx.array:
        """Say which candidates stay; the first always does.

        Args:
            sorted_values: ``[rows, width]`` float32 logits, greatest first.
            everything: ``[rows, n]`` float32, all the rows' logits; what ``top_p`` takes its shares of.

        Returns:
            ``[rows, width]`` bool, a prefix of each row.
        """
        stays = mx.ones(sorted_values.shape, dtype=mx.bool_)
        if self._top_p is not None:
            total = mx.logsumexp(everything, axis=-1, keepdims=True)
            stays = stays & (mass_before(mx.exp(sorted_values - total)) < self._top_p)
        if self._top_k is not None:
            stays = stays & (mx.arange(sorted_values.shape[-1], dtype=mx.int32) < self._top_k)
        if self._log_min_p is not None:
            stays = stays & (sorted_values - sorted_values[:, :1] >= self._log_min_p)
        return stays

    def apply(self, values: mx.array) -> mx.array:
        """Return ``[rows, n]`` float32 with all that is cut at minus infinity."""
        ranked, ids = likeliest(values, values.shape[-1])
        stays = mx.put_along_axis(
            mx.zeros(values.shape, dtype=mx.bool_), ids, self.keep(ranked, values), axis=-1
        )
        return mx.where(stays, values, -math.inf)


_ALL = 2**31 - 1


def _column(settings: Sequence[float], *, neutral: float) -> mx.array | None:
    """Return ``[rows, 1]``, or nothing if every row is neutral."""
    if all(setting == neutral for setting in settings):
        return None
    dtype = mx.int32 if isinstance(neutral, int) else mx.float32
    return mx.array(list(settings), dtype=dtype)[:, None]


def _log(min_p: float) -> float:
    return math.log(min_p) if min_p else -math.inf
