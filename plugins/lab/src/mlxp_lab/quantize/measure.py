"""How far a network is from another one, on rows of tokens."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import mlx.core as mx
from msgspec import Struct

from mlxp_core.contracts import KVPolicy, LanguageModel
from mlxp_core.kv import BatchCache, forward

_REMEMBERED_BYTES = 2**30
"""Of the reference's log-probabilities; beyond it they are kept in 16 bits."""

Step = Callable[[], None]


class Quality(Struct, frozen=True):
    """How a network does on texts.

    Attributes:
        perplexity: exp of the mean negative log-probability of each next token.
        kl: mean over positions of KL(reference || network), in nats.
        agreement: share of positions whose likeliest token is the reference's.
    """

    perplexity: float
    kl: float
    agreement: float


class Yardstick:
    """What a reference says about rows of tokens, to hold other networks against."""

    def __init__(
        self, model: LanguageModel, policy: KVPolicy, rows: Sequence[Sequence[int]], step: Step
    ) -> None:
        """Ask the reference.

        Args:
            model: the reference.
            policy: for its caches.
            rows: of tokens.
            step: called after each row.
        """
        self.rows = [list(row) for row in rows]
        self._said: list[mx.array] = []
        small = sum(len(row) for row in rows) * _vocabulary(model) * 4 <= _REMEMBERED_BYTES
        for row in self.rows:
            said = log_probabilities(model, policy, row)
            self._said.append(said if small else said.astype(mx.float16))
            mx.eval(self._said[-1])
            step()

    def kl(self, model: LanguageModel, policy: KVPolicy, *, chunk: int | None = None) -> float:
        """Return the mean KL(reference || model) over all positions, in nats; ``chunk``: tokens read at once."""
        total = sum(
            _number(_divergence(said.astype(mx.float32), log_probabilities(model, policy, row, chunk)).sum())
            for row, said in zip(self.rows, self._said, strict=True)
        )
        return total / sum(len(row) for row in self.rows)

    def quality(self, model: LanguageModel, policy: KVPolicy, step: Step = lambda: None) -> Quality:
        """Return how a network does; ``step`` is called after each row."""
        lost = diverged = agreed = 0.0
        for row, told in zip(self.rows, self._said, strict=True):
            said, reference = log_probabilities(model, policy, row), told.astype(mx.float32)
            targets = mx.array(row[1:], dtype=mx.int32)
            lost -= _number(mx.take_along_axis(said[:-1], targets[:, None], axis=-1).sum())
            diverged += _number(_divergence(reference, said).sum())
            agreed += _number((mx.argmax(said, axis=-1) == mx.argmax(reference, axis=-1)).sum())
            step()
        positions = sum(len(row) for row in self.rows)
        return Quality(
            perplexity=_exp(lost / (positions - len(self.rows))),
            kl=diverged / positions,
            agreement=agreed / positions,
        )

    def own_quality(self) -> Quality:
        """Return how the reference itself does."""
        lost = 0.0
        for row, told in zip(self.rows, self._said, strict=True):
            targets = mx.array(row[1:], dtype=mx.int32)
            lost -= _number(mx.take_along_axis(told[:-1].astype(mx.float32), targets[:, None], axis=-1).sum())
        return Quality(_exp(lost / sum(len(row) - 1 for row in self.rows)), 0.0, 1.0)


def log_probabilities(
    model: LanguageModel, policy: KVPolicy, row: Sequence[int], chunk: int | None = None
) -> mx.array:
    """Return the log-probabilities after each token: ``[tokens, vocabulary]``, float32.

    Args:
        model: the network.
        policy: for its caches.
        row: the tokens.
        chunk: how many are read at once; ``None`` = all.
    """
    cache = BatchCache(model.make_caches(policy))
    size = chunk or len(row)
    hidden = [
        forward(model, cache, mx.array([row[start : start + size]], dtype=mx.int32))
        for start in range(0, len(row), size)
    ]
    logits = model.logits(mx.concatenate(hidden, axis=1))[0].astype(mx.float32)
    said: mx.array = logits - mx.logsumexp(logits, axis=-1, keepdims=True)
    return said


def _divergence(reference: mx.array, said: mx.array) -> mx.array:
    return (mx.exp(reference) * (reference - said)).sum(axis=-1)


def _vocabulary(model: LanguageModel) -> int:
    return model.logits(model.embed(mx.zeros((1, 1), dtype=mx.int32))).shape[-1]


def _number(array: mx.array) -> float:
    value: Any = array.item()
    return float(value)


def _exp(value: float) -> float:
    return math.exp(value) if value < 700 else math.inf  # noqa: PLR2004  # beyond it a float has no such number
