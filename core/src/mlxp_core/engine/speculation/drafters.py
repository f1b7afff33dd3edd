"""Networks that guess: a head on top of the model's own hidden states, or a smaller model.

Both read every pass along, prompts included, so that their rows stand where the model's do: they are joined, shortened,
frozen for the prompt cache and put back with them, and nothing has to be caught up with. Guessing is a detour of some
passes over one token; then they are where they were, and read with the model what it is given to check.

The entry of a head for token ``t`` takes the hidden state of ``t`` and token ``t+1``, so a head is one token behind.
The hidden state that waits for its token is kept like a recurrent state. A stopgap stands in the place of the entry
that waits, so that a row has as many entries as tokens; no entry before it sees it, and the next pass writes over it.
"""

from collections.abc import Callable, Sequence
from typing import cast

import mlx.core as mx

from mlxp_core.contracts import DraftNetwork, Inputs, KVPolicy, LanguageModel, LayerCache, Positions
from mlxp_core.kv import BatchCache, BatchPositions, PlainPolicy, RecurrentCache
from mlxp_core.kv.batch import spans_before, spans_now
from mlxp_core.loading.network import Network

Draw = Callable[[mx.array], mx.array]
"""Takes scores ``[rows, vocabulary]`` and returns tokens ``[rows]``."""


class HeadDrafter:
    """A ``Drafter``: the model's own draft head, which scores by the model's own head."""

    def __init__(self, model: LanguageModel, head: DraftNetwork) -> None:
        """Guess for ``model``."""
        self._model, self._head = model, head
        embedded = model.embed(mx.zeros((1, 1), dtype=mx.int32))  # never computed
        self._width, self._dtype = embedded.shape[-1], embedded.dtype
        self._policy: KVPolicy = PlainPolicy(embedded.dtype)

    @property
    def scheme(self) -> str:
        """Return the type of what is stored."""
        return f"head {self._policy.scheme}"

    def make_caches(self) -> list[LayerCache]:
        """Return empty caches for one row: for the hidden state that waits for its token, then the head's own."""
        waiting = RecurrentCache([(self._width,)], [self._dtype])
        return [waiting, *self._head.make_caches(self._policy)]

    def follow(self, inputs: Inputs, hidden: mx.array, caches: Sequence[LayerCache]) -> None:
        """Read the tokens of a pass, each with the hidden state before it; see ``Drafter.follow``.

        Rows are new all together, or none is.
        """
        (waiting, own), at = _parted(caches), inputs.at
        seen = mx.concatenate([waiting.state[0][:, None], hidden], axis=1)
        embedded = self._model.embed(inputs.tokens) if inputs.embeddings is None else inputs.embeddings
        fresh = int(at.starts[0] == 0)  # nothing comes before a first token
        tokens, embedded = (
            mx.concatenate([part, part[:, -1:]], axis=1)[:, fresh:] for part in (inputs.tokens, embedded)
        )
        behind = BatchPositions(
            [start - 1 + fresh for start in at.starts],
            [count - fresh for count in at.counts],
            at.width + 1 - fresh,
            revocable=at.revocable,
        )
        spans = tuple(past + now for past, now in zip(inputs.past_images, inputs.images, strict=True))
        shifted = Inputs(
            tokens=tokens,
            at=behind,
            embeddings=embedded,
            images=spans_now(spans, behind),
            past_images=spans_before(spans, behind),
        )
        read = self._head(shifted, seen[:, fresh:], own)
        _keep_last(waiting, at, seen)
        _compute(at, read, seen)

    def ahead(self, cache: BatchCache, tokens: mx.array, count: int, draw: Draw) -> mx.array:
        """Guess on from the head's own hidden states; see ``Drafter.ahead``."""
        with cache.detour():
            waiting, own = _parted(cache.beside)
            hidden = waiting.state[0][:, None]
            starts, guesses = [length - 1 for length in cache.lengths], []
            for place in range(count):
                at = BatchPositions([start + place for start in starts], [1] * cache.rows, 1)
                embedded = self._model.embed(tokens[:, None])
                hidden = self._head(Inputs(tokens=tokens[:, None], at=at, embeddings=embedded), hidden, own)
                tokens = draw(self._model.logits(hidden[:, -1]))
                guesses.append(tokens)
        return mx.stack(guesses, axis=1)


class ModelDrafter:
    """A ``Drafter``: another model with the same tokens. It sees no images, only that there are some."""

    def __init__(self, network: Network, *, vocabulary: int) -> None:
        """Guess by ``network`` for a model with so many logits."""
        self._network, self._vocabulary = network, vocabulary

    @property
    def scheme(self) -> str:
        """Return how the model keeps its keys and values."""
        return f"model {self._network.policy.scheme}"

    def make_caches(self) -> list[LayerCache]:
        """Return empty caches of the model for one row."""
        return self._network.model.make_caches(self._network.policy)

    def follow(self, inputs: Inputs, hidden: mx.array, caches: Sequence[LayerCache]) -> None:  # noqa: ARG002  # of no use
        """Read the tokens of a pass; see ``Drafter.follow``."""
        at = inputs.at
        own = BatchPositions(
            at.starts, at.counts, at.width, revocable=at.revocable
        )  # its tables are not ours
        _compute(at, self._network.model(Inputs(tokens=inputs.tokens, at=own), caches))

    def ahead(self, cache: BatchCache, tokens: mx.array, count: int, draw: Draw) -> mx.array:
        """Guess as the model goes on; see ``Drafter.ahead``."""
        guesses, model = [], self._network.model
        with cache.detour():
            for _ in range(count):
                at = cache.begin([1] * cache.rows, 1)
                hidden = model(Inputs(tokens=tokens[:, None], at=at), cache.beside)
                cache.commit(at)
                tokens = draw(self._as_wide(model.logits(hidden[:, -1])))
                guesses.append(tokens)
        return mx.stack(guesses, axis=1)

    def _as_wide(self, scores: mx.array) -> mx.array:
        """Return as many scores as the other model gives: heads may be padded differently."""
        missing = self._vocabulary - scores.shape[-1]
        if missing <= 0:
            return scores[:, : self._vocabulary]
        padding = mx.full((scores.shape[0], missing), -mx.inf, dtype=scores.dtype)
        return mx.concatenate([scores, padding], axis=-1)


def _parted(caches: Sequence[LayerCache]) -> tuple[RecurrentCache, list[LayerCache]]:
    """Return what ``HeadDrafter.make_caches`` put first, and the others."""
    return cast("RecurrentCache", caches[0]), list(caches[1:])


def _keep_last(waiting: RecurrentCache, at: Positions, seen: mx.array) -> None:
    """Keep each row's last hidden state of ``seen``, which begins with the one from before the pass."""

    def after(counts: mx.array) -> tuple[mx.array, ...]:
        return (mx.take_along_axis(seen, counts[:, None, None], axis=1)[:, 0],)

    waiting.state = after(mx.array(at.counts, dtype=mx.int32))
    if at.revocable:
        waiting.remember(at, after)


def _compute(at: Positions, *read: mx.array) -> None:
    """Set the device to work on what was read, so that nothing piles up; where guesses follow, these do it."""
    if not at.revocable:
        mx.async_eval(*read)
