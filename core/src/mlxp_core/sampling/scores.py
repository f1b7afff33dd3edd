"""Log-probabilities for clients that ask for them.

Reported is the model's own distribution: the float32 log-softmax of its logits, before bias, penalties, masks,
truncation and temperature. So a bias cannot be used to shift the numbers, they are comparable between requests, and a
drawn token has a finite score even where the alternatives were forbidden.
"""

from collections.abc import Mapping
from typing import cast

import mlx.core as mx

from mlxp_core.sampling.rows import Rows
from mlxp_core.sampling.truncate import likeliest
from mlxp_core.types import RawScore

LEAST = -9999.0
"""Stands for minus infinity, which JSON cannot say."""


class Scores:
    """Scores of the rows that asked, packed into two arrays.

    Attributes:
        values: ``[asking, 1 + most]`` float32: the drawn token's, then the best ones'.
        ids: ``[asking, most]`` int32: the tokens with the best ones.
    """

    def __init__(self, logits: mx.array, tokens: mx.array, wanted: Mapping[int, int]) -> None:
        """Score the drawn ``tokens`` ``[rows]`` under the model's ``logits`` ``[rows, n]``.

        Args:
            logits: as the model gave them.
            tokens: what was drawn.
            wanted: row -> how many alternatives, for the rows that asked.
        """
        self._place = {row: place for place, row in enumerate(wanted)}
        self._wanted = dict(wanted)
        rows = Rows(tuple(wanted), logits.shape[0])
        own = rows.take(logits).astype(mx.float32)
        total = mx.logsumexp(own, axis=-1, keepdims=True)
        drawn = mx.take_along_axis(own, rows.take(tokens)[:, None], axis=-1)
        best, self.ids = likeliest(own, max(1, *wanted.values()))
        self.values = mx.concatenate([drawn, best], axis=-1) - total

    def read(self, row: int) -> RawScore | None:
        """Return a row's scores once the arrays are evaluated; ``None`` if it did not ask."""
        if row not in self._place:
            return None
        place = self._place[row]
        drawn, *best = (max(value, LEAST) for value in cast("list[float]", self.values[place].tolist()))
        ids = cast("list[int]", self.ids[place].tolist())
        return RawScore(logprob=drawn, top=tuple(zip(ids, best, strict=True))[: self._wanted[row]])
