"""Random layers that do all of their work and change nothing: the next token follows from the last one alone.

With plain random weights an answer may end, loop, or stop inside of a character, each server's at another place. Here
layers only whisper into the residual stream. A token's embedding is the key of the token that follows it, and the rows
of the head are those keys, so greedy answers walk the vocabulary's cycle, whatever the type, the batch or the kernel.
Rows of tokens that are not to be said are zero.

Nothing may be guessed from earlier text while such a model is measured: all guesses would be right.
"""

import math
import zlib

import mlx.core as mx

from benchmarks.serving.checkpoints.vocabulary import Vocabulary

WHISPER = 0.03
"""How loudly a layer speaks into the residual stream."""


class Weights(dict[str, mx.array]):
    """Tensors by name, each drawn from a seed of its own."""

    def matrix(self, name: str, rows: int, columns: int, gain: float = 1.0) -> None:
        """Add a projection."""
        self[name] = normal(name, (rows, columns)) * (gain / math.sqrt(columns))

    def scales(self, name: str, size: int, about: float = 1.0) -> None:
        """Add a norm's weights."""
        self[name] = about + 0.05 * uniform(name, (size,))

    def said(self, embedding: str, head: str, words: Vocabulary, hidden: int) -> None:
        """Add embedding and head, so that words follow each other as they should."""
        keys = normal("keys", (words.size, hidden))
        spoken = mx.zeros((words.size, 1))
        spoken[mx.array([*words.openings, *words.words])] = 1.0
        self[embedding] = keys[mx.array(words.followers())]
        self[head] = keys * spoken / math.sqrt(hidden)

    def feed_forward(self, prefix: str, hidden: int, inner: int) -> None:
        """Add a gated feed-forward layer."""
        self.matrix(f"{prefix}.gate_proj.weight", inner, hidden)
        self.matrix(f"{prefix}.up_proj.weight", inner, hidden)
        self.matrix(f"{prefix}.down_proj.weight", hidden, inner, WHISPER)


def normal(name: str, shape: tuple[int, ...]) -> mx.array:
    """Draw from a normal distribution."""
    return mx.random.normal(shape, key=_key(name))


def uniform(name: str, shape: tuple[int, ...]) -> mx.array:
    """Draw between -1 and 1."""
    return mx.random.uniform(-1.0, 1.0, shape, key=_key(name))


def _key(name: str) -> mx.array:
    return mx.random.key(zlib.crc32(name.encode()))
