"""Rows that step together, and the draws that are under way for them."""

from collections.abc import Mapping
from collections.abc import Sequence as SequenceOf
from typing import cast

import mlx.core as mx
from msgspec import Struct

from mlxp_core.engine.sequence import Sequence
from mlxp_core.engine.steps import Draw
from mlxp_core.kv import BatchCache, forward
from mlxp_core.loading.network import Network
from mlxp_core.sampling.sampler import Drawn, Sampler


class Batch:
    """Rows that step together. One that is only just prefilled is a batch of one.

    Attributes:
        network: what they run on.
        rows: whose they are.
        cache: keys, values and states.
        sampler: how each row is drawn.
        tokens: ``[rows]`` int32, the last ones drawn, perhaps not evaluated yet.
    """

    def __init__(self, network: Network, row: Sequence, cache: BatchCache, sampler: Sampler) -> None:
        """Make a batch of one row that has no token to go on from yet."""
        self.network = network
        self.rows = [row]
        self.cache = cache
        self.sampler = sampler
        self.tokens = mx.zeros((1,), dtype=mx.int32)

    def draw(self, logits: mx.array, masks: Mapping[int, bytes]) -> "Unread":
        """Draw from ``[rows, vocabulary]`` and set the device to work; ``masks`` go by sequence key."""
        by_row = {row: masks[sequence.key] for row, sequence in enumerate(self.rows) if sequence.key in masks}
        drawn = self.sampler.draw(logits, by_row)
        mx.async_eval(*drawn.arrays)
        self.tokens = drawn.tokens
        return Unread(tuple(self.rows), drawn)

    def step(self, masks: Mapping[int, bytes]) -> "Unread":
        """Run one token per row through the network and draw the next."""
        hidden = forward(self.network.model, self.cache, self.tokens[:, None])  # [rows, 1, hidden]
        return self.draw(self.network.model.logits(hidden[:, -1]), masks)

    def join(self, other: "Batch") -> None:
        """Append the rows of ``other``, which must not be used afterwards."""
        self.rows += other.rows
        self.cache.join(other.cache)
        self.sampler.join(other.sampler)
        self.tokens = mx.concatenate([self.tokens, other.tokens])

    def keep(self, rows: SequenceOf[int]) -> None:
        """Keep only these rows, in this order."""
        self.rows = [self.rows[row] for row in rows]
        self.cache.keep(rows)
        self.sampler.keep(rows)
        self.tokens = self.tokens[mx.array(list(rows))]


class Unread(Struct, frozen=True):
    """A draw that is under way, and the rows it is for, as they stood when it was dispatched."""

    rows: tuple[Sequence, ...]
    drawn: Drawn

    def read(self) -> list[Draw]:
        """Wait for it, and return what was drawn for rows that have not ended meanwhile."""
        if all(sequence.ended for sequence in self.rows):
            return []
        tokens = cast("list[int]", self.drawn.tokens.tolist())
        draws = []
        for row, sequence in enumerate(self.rows):
            if not sequence.ended:
                score = self.drawn.read_scores(row)
                draws.append(Draw(sequence, (tokens[row],), () if score is None else (score,)))
        return draws
