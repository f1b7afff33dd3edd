"""Rows that step together, and the draws that are under way for them."""

from collections.abc import Mapping
from collections.abc import Sequence as SequenceOf
from typing import Self, cast

import mlx.core as mx
from msgspec import Struct

from mlxp_core.contracts import SamplerStage
from mlxp_core.engine.faults import contained
from mlxp_core.engine.hold import Mask
from mlxp_core.engine.sequence import Sequence
from mlxp_core.engine.steps import Draw, Failure
from mlxp_core.errors import MlxpError
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

    @classmethod
    def start(
        cls, network: Network, row: Sequence, cache: BatchCache, stages: Mapping[str, SamplerStage]
    ) -> Self:
        """Make a batch of one row, drawn as its request says."""
        sampler = Sampler.start(
            row.sampling,
            row.prompt,
            vocabulary=network.vocabulary,
            top_scores=row.order.request.top_scores,
            stages=stages,
            limit=network.used,
        )
        return cls(network, row, cache, sampler)

    @property
    def placed(self) -> list[tuple[Sequence, BatchCache, int]]:
        """Return each sequence with its cache and its row there."""
        return [(sequence, self.cache, row) for row, sequence in enumerate(self.rows)]

    def draw(self, logits: mx.array, masks: Mapping[int, Mask]) -> "Unread":
        """Draw from ``[rows, vocabulary]`` and set the device to work; ``masks`` go by sequence key."""
        drawn = self.sampler.draw(logits, waited(logits, self.by_row(masks)))
        mx.async_eval(*drawn.arrays)
        self.tokens = drawn.tokens
        return Unread(tuple(self.rows), drawn)

    def by_row(self, masks: Mapping[int, Mask]) -> dict[int, Mask]:
        """Return masks by row that go by sequence key."""
        return {row: masks[sequence.key] for row, sequence in enumerate(self.rows) if sequence.key in masks}

    def step(self, masks: Mapping[int, Mask]) -> tuple[list["Unread"], list[Failure]]:
        """Run one token per row through the network and draw the next; see ``take``."""
        images = tuple(sequence.order.prompt.spans for sequence in self.rows)
        hidden = forward(  # [rows, 1, hidden]
            self.network.model, self.cache, self.tokens[:, None], images=images
        )
        return self.take(self.network.model.logits(hidden[:, -1]), masks)

    def take(self, logits: mx.array, masks: Mapping[int, Mask]) -> tuple[list["Unread"], list[Failure]]:
        """Draw the next tokens from ``[rows, vocabulary]``.

        Returns:
            The draws, and the rows that have none because theirs failed; those have left the batch.
        """
        match contained(self.draw, logits, masks):
            case Unread() as unread:
                return [unread], []
            case _:
                return self._draw_apart(logits, masks)

    def _draw_apart(
        self, logits: mx.array, masks: Mapping[int, Mask]
    ) -> tuple[list["Unread"], list[Failure]]:
        """Draw row by row, which draws the same, so that nobody fails for a neighbour's stage or mask."""
        drawn: dict[int, Unread] = {}
        failures: list[Failure] = []
        samplers = self.sampler.split()
        for row, sequence in enumerate(self.rows):
            match contained(_draw_alone, samplers[row], logits[row : row + 1], masks.get(sequence.key)):
                case Drawn() as alone:
                    drawn[row] = Unread((sequence,), alone)
                case MlxpError() as fault:
                    failures.append((sequence, fault))
        self._go_on_from(drawn, samplers)
        return list(drawn.values()), failures

    def _go_on_from(self, drawn: Mapping[int, "Unread"], samplers: SequenceOf[Sampler]) -> None:
        """Keep the rows that were drawn for alone, and put them together again."""
        if not drawn:
            self.rows = []  # and with them the batch is over
            return
        self.keep(list(drawn))
        self.sampler, *others = (samplers[row] for row in drawn)
        for other in others:
            self.sampler.join(other)
        self.tokens = mx.concatenate([unread.drawn.tokens for unread in drawn.values()])
        mx.async_eval(*(array for unread in drawn.values() for array in unread.drawn.arrays))

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


def waited(logits: mx.array, masks: Mapping[int, Mask]) -> dict[int, bytes]:
    """Return the masks themselves; the device works on the logits while they are waited for."""
    if masks:
        mx.async_eval(logits)
    return {row: mask() for row, mask in masks.items()}


def _draw_alone(sampler: Sampler, logits: mx.array, mask: Mask | None) -> Drawn:
    return sampler.draw(logits, {} if mask is None else {0: mask()})


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
