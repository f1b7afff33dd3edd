"""Prompts on the device: those half read, and those read that siblings will fork from."""

from collections.abc import Iterator

import mlx.core as mx
from msgspec import Struct

from mlxp_core.engine.features import Features
from mlxp_core.engine.past import Past, empty_row
from mlxp_core.engine.pooling import half_of
from mlxp_core.engine.sequence import Recalled, Sequence
from mlxp_core.engine.shelf import Shelf
from mlxp_core.engine.steps import Prefill, Recall
from mlxp_core.kv import BatchCache, RowSnapshot, forward


class HalfRead:
    """A prompt that is being read.

    Attributes:
        sequence: whose it is.
        cache: its one row.
        pooled: what will be its numbers; ``None`` = an answer is wanted.
        newest: what the newest chunk is known by: its last hidden state ``[1, 1, hidden]``, or the sum so far.
    """

    def __init__(self, sequence: Sequence, cache: BatchCache) -> None:
        """Begin with nothing read."""
        self.sequence = sequence
        self.cache = cache
        self.pooled = None if sequence.order.pool is None else half_of(sequence.order.pool)
        self.newest: mx.array | None = None

    def take(self, hidden: mx.array) -> mx.array:
        """Take the hidden states ``[1, count, hidden]`` of the next chunk; return what is kept of it, lazy."""
        return hidden[:, -1:] if self.pooled is None else self.pooled.add(hidden)


class Prefix(Struct, frozen=True):
    """A prompt that has been read, and the siblings that will fork from it.

    Attributes:
        logits: ``[1, vocabulary]`` after its last token.
    """

    snapshot: RowSnapshot
    logits: mx.array
    siblings: tuple[Sequence, ...]


class Prompts:
    """All of them."""

    def __init__(self, shelf: Shelf, features: Features, past: Past) -> None:
        """Begin with none.

        Args:
            shelf: has the models.
            features: what their eyes see.
            past: where prompts begin that were read before.
        """
        self._shelf = shelf
        self._features = features
        self._past = past
        self._half: dict[int, HalfRead] = {}  # by sequence key
        self._prefixes: dict[str, Prefix] = {}  # by request id

    def __len__(self) -> int:
        return len(self._half) + len(self._prefixes)

    def recall(self, step: Recall) -> Recalled:
        """Begin a prompt with what is known of it."""
        known = self._past.recall(step.sequence, wait=step.wait)
        if known is None:
            return Recalled(waiting=True)
        cache, recalled = known
        self._half[step.sequence.key] = HalfRead(step.sequence, cache)
        return recalled

    def read(self, step: Prefill) -> tuple[HalfRead, mx.array]:
        """Run a chunk, images and all, through the network.

        Returns:
            The prompt, and what is kept of the chunk; see ``HalfRead.take``.
        """
        sequence, network = step.sequence, self._shelf[step.sequence.order.model]
        half = self._half.get(sequence.key)
        if half is None:
            half = self._half[sequence.key] = HalfRead(
                sequence, empty_row(network, followed=sequence.order.pool is None)
            )
        prompt = sequence.order.prompt
        tokens = mx.array(prompt.tokens[step.start : step.start + step.count], dtype=mx.int32)[None]
        shown = self._features.embeddings(sequence.order.model, prompt, step.start, tokens)
        hidden = forward(network.model, half.cache, tokens, embeddings=shown, images=(prompt.spans,))
        newest = half.take(hidden)
        self._past.keep_read(sequence, half.cache)
        return half, newest

    def expect(self, siblings: tuple[Sequence, ...], half: HalfRead, logits: mx.array) -> None:
        """Keep a prompt that has been read for siblings to fork from."""
        if siblings:
            self._prefixes[half.sequence.request_id] = Prefix(half.cache.freeze(0), logits, siblings)

    def forget(self, sequence: Sequence) -> None:
        """Let go of a prompt that has been read."""
        del self._half[sequence.key]

    def fork(self, sequence: Sequence) -> tuple[BatchCache, mx.array]:
        """Return a row that has read the prompt of an earlier choice, and the logits behind it."""
        prefix = self._prefixes[sequence.request_id]
        return empty_row(self._shelf[sequence.order.model]).thaw(prefix.snapshot), prefix.logits

    def placed(self) -> Iterator[tuple[Sequence, BatchCache, int]]:
        """Yield each sequence whose prompt is half read, with its cache and its row there."""
        return ((half.sequence, half.cache, 0) for half in self._half.values())

    def sweep(self) -> None:
        """Free what ended sequences hold."""
        self._half = {key: half for key, half in self._half.items() if not half.sequence.ended}
        self._prefixes = {
            request_id: prefix
            for request_id, prefix in self._prefixes.items()
            if any(not sibling.ended and not sibling.read for sibling in prefix.siblings)
        }

    def clear(self) -> None:
        """Free everything."""
        self._half.clear()
        self._prefixes.clear()

    @property
    def nbytes(self) -> int:
        """Return the bytes of all caches."""
        half = sum(half.cache.nbytes for half in self._half.values())
        return half + sum(prefix.snapshot.nbytes for prefix in self._prefixes.values())
