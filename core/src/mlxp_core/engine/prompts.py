"""Prompts on the device: those half read, and those read that siblings will fork from."""

import mlx.core as mx
from msgspec import Struct

from mlxp_core.engine.pooling import HalfPooled
from mlxp_core.engine.sequence import Sequence
from mlxp_core.kv import BatchCache, RowSnapshot


class HalfRead:
    """A prompt that is being read.

    Attributes:
        sequence: whose it is.
        cache: its one row.
        pooled: what will be its vector; ``None`` = an answer is wanted.
        newest: what the newest chunk is known by: its last hidden state ``[1, 1, hidden]``, or the sum so far.
    """

    def __init__(self, sequence: Sequence, cache: BatchCache) -> None:
        """Begin with nothing read."""
        self.sequence = sequence
        self.cache = cache
        self.pooled = None if sequence.order.pool is None else HalfPooled(sequence.order.pool)
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
