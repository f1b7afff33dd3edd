"""The pass that reads guesses, and what the sampler makes of them."""

from collections.abc import Callable, Mapping
from collections.abc import Sequence as SequenceOf
from contextlib import AbstractContextManager
from typing import cast

import mlx.core as mx
from msgspec import Struct

from mlxp_core.engine.batch import Batch, Unread, waited
from mlxp_core.engine.faults import contained
from mlxp_core.engine.hold import Mask
from mlxp_core.engine.sequence import Sequence
from mlxp_core.engine.steps import Decode, Draw, Failure
from mlxp_core.errors import MlxpError
from mlxp_core.kv import forward
from mlxp_core.sampling.sampler import Drawn

Adapters = Callable[[SequenceOf[Sequence]], AbstractContextManager[None]]
"""Has every row of the passes within take its sequence's adapters."""


class Unjudged(Struct, frozen=True):
    """Draws that are under way behind the last token of each row and behind each of its guesses.

    The batch cannot go on before it is read.
    """

    batch: Batch
    guesses: tuple[tuple[int, ...], ...]
    drawn: Drawn

    @property
    def rows(self) -> list[Sequence]:
        """Return whose they are."""
        return self.batch.rows

    def read(self) -> list[Draw]:
        """Wait, keep for each row what a row without guesses would have drawn, and take back what was read in vain."""
        tokens = cast("list[int]", self.drawn.tokens.tolist())
        draws, kept, first = [], [], 0
        for row, (sequence, guess) in enumerate(zip(self.rows, self.guesses, strict=True)):
            own = tokens[first : first + len(guess) + 1]
            right = _agreeing(guess, own)
            kept.append(own[: right + 1])
            scores = (self.drawn.read_scores(first + place) for place in range(right + 1))
            known = tuple(score for score in scores if score is not None)
            draws.append(Draw(sequence, tuple(kept[-1]), known, len(guess)))
            went_back = self.batch.cache.trim(row, len(guess) - right)
            assert went_back  # noqa: S101  # the model's caches were asked when it was loaded
            first += len(own)
        self.batch.sampler.take(kept)
        self.batch.tokens = mx.array([own[-1] for own in kept], dtype=mx.int32)
        return [draw for draw in draws if not draw.sequence.ended]


def advance(
    batch: Batch, step: Decode, adapters: Adapters
) -> tuple[list[Unread] | list[Unjudged], list[Failure]]:
    """Draw as the step says.

    Args:
        batch: of the step's rows; with guesses, nothing is under way.
        step: what is to be drawn.
        adapters: of the rows.

    Returns:
        The draws, and the rows that have none because theirs failed; those have left the batch.
    """
    drafted = _drafted(batch, step.drafts, adapters) if step.drafts else {}
    guesses = {**step.guesses, **drafted}
    if guesses:
        return _advance_with_guesses(batch, guesses, step.masks, adapters)
    with adapters(batch.rows):
        return batch.step(step.masks)


def _drafted(batch: Batch, drafts: Mapping[int, int], adapters: Adapters) -> Mapping[int, tuple[int, ...]]:
    """Return what the drafter guesses for each row, as many tokens as it is to; nothing, if it fails.

    It draws as the rows do, with the same random numbers: the more it is like the model, the more often it is right.
    """
    found = contained(_draft, batch, max(drafts.values()), adapters)
    if isinstance(found, MlxpError):
        return {}
    counts = [drafts.get(sequence.key, 0) for sequence in batch.rows]
    return {
        sequence.key: tuple(guess[:count])
        for sequence, guess, count in zip(batch.rows, found, counts, strict=True)
        if count
    }


def _draft(batch: Batch, count: int, adapters: Adapters) -> list[list[int]]:
    drafter = batch.network.drafter
    assert drafter is not None  # noqa: S101  # the scheduler was told that there is one
    sampler = batch.sampler.ahead([()] * len(batch.rows))
    with adapters(batch.rows):
        guesses = drafter.ahead(batch.cache, batch.tokens, count, lambda scores: sampler.draw(scores).tokens)
    return cast("list[list[int]]", guesses.tolist())


def _advance_with_guesses(
    batch: Batch, guesses: Mapping[int, tuple[int, ...]], masks: Mapping[int, Mask], adapters: Adapters
) -> tuple[list[Unread] | list[Unjudged], list[Failure]]:
    """Read the last token of each row and all guesses, and draw behind each of them; if any draw fails, in vain."""
    own = tuple(guesses.get(sequence.key, ()) for sequence in batch.rows)
    counts = [1 + len(guess) for guess in own]
    width = max(counts)
    padded = mx.array([[*guess, *[0] * (width - 1 - len(guess))] for guess in own], dtype=mx.int32)
    tokens = mx.concatenate([batch.tokens[:, None], padded], axis=1)
    images = tuple(sequence.order.prompt.spans for sequence in batch.rows)
    with adapters(batch.rows):
        hidden = forward(
            batch.network.model, batch.cache, tokens, counts=counts, images=images, revocable=True
        )
    places = [row * width + place for row, count in enumerate(counts) for place in range(count)]
    asked = [sequence for sequence, count in zip(batch.rows, counts, strict=True) for _ in range(count)]
    with adapters(asked):
        logits = batch.network.model.logits(hidden.reshape(-1, hidden.shape[-1])[mx.array(places)])
    firsts = [sum(counts[:row]) for row in range(len(counts))]
    drawn = contained(
        _draw, batch, own, logits, {firsts[row]: mask for row, mask in batch.by_row(masks).items()}
    )
    if isinstance(drawn, Drawn):
        return [Unjudged(batch, own, drawn)], []
    for row, guess in enumerate(own):
        batch.cache.trim(row, len(guess))
    return batch.take(logits[mx.array(firsts)], masks)


def _draw(
    batch: Batch, guesses: SequenceOf[SequenceOf[int]], logits: mx.array, masks: Mapping[int, Mask]
) -> Drawn:
    drawn = batch.sampler.ahead(guesses).draw(logits, waited(logits, masks))
    mx.async_eval(*drawn.arrays)
    return drawn


def _agreeing(guess: SequenceOf[int], drawn: SequenceOf[int]) -> int:
    """Return how many guesses are what was drawn."""
    return next((place for place, token in enumerate(guess) if token != drawn[place]), len(guess))
