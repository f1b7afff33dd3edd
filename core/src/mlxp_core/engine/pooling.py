"""From the hidden states of a prompt, chunk by chunk, to numbers: the vector of its text, or what comes after it.

With ``h_i`` the hidden state of token ``i``, counted from 1, the vector is, before it is brought to length 1:

- ``last``: ``h_n``;
- ``mean``: ``sum(h_i) / n``;
- ``weighted_mean``: ``sum(i * h_i) / sum(i)`` (SGPT, https://arxiv.org/abs/2202.08904, section 3.1).

The division changes the length alone, so it is left out.

A survey looks at the distribution after the last token: the log-softmax of its logits, in float32.
"""

from typing import Protocol, cast

import mlx.core as mx
from msgspec import Struct

from mlxp_core.engine.orders import Pool, Survey
from mlxp_core.engine.sequence import Sequence
from mlxp_core.engine.steps import Draw
from mlxp_core.loading.network import Network
from mlxp_core.sampling.scores import LEAST
from mlxp_core.sampling.truncate import likeliest

_LEAST = 1e-30  # keeps a sum of zeros from being divided by zero


class Half(Protocol):
    """What is kept of the tokens read so far."""

    def add(self, hidden: mx.array) -> mx.array:
        """Take the hidden states ``[1, count, hidden]`` of the next tokens; return what is kept, lazy."""
        ...

    def finish(self, sequence: Sequence, network: Network) -> "UnreadVector":
        """Set the device to work on the numbers; at least one token was read."""
        ...


def half_of(pool: Pool) -> Half:
    """Begin with nothing read."""
    return HalfSurveyed(pool, pool.pooling) if isinstance(pool.pooling, Survey) else HalfPooled(pool)


class HalfPooled:
    """The sum over the tokens read so far."""

    def __init__(self, pool: Pool) -> None:
        """Begin with nothing read."""
        self._pool = pool
        self._read = 0
        self._sum: mx.array | None = None

    def add(self, hidden: mx.array) -> mx.array:
        """Take the hidden states ``[1, count, hidden]`` of the next tokens.

        Returns:
            The sum with them, ``[hidden]`` in float32; lazy. Only its evaluation lets go of ``hidden``.
        """
        states, count = hidden[0], hidden.shape[1]
        match self._pool.pooling:
            case "last":
                total = states[-1].astype(mx.float32)
            case "mean":
                total = states.astype(mx.float32).sum(axis=0)
            case _:
                places = mx.arange(self._read + 1, self._read + count + 1, dtype=mx.float32)
                total = (states.astype(mx.float32) * places[:, None]).sum(axis=0)
        if self._sum is not None and self._pool.pooling != "last":
            total = self._sum + total
        self._read += count
        self._sum = total
        return total

    def finish(self, sequence: Sequence, _network: Network) -> "UnreadVector":
        """Bring the sum to length 1 and set the device to work; at least one token was read."""
        assert self._sum is not None  # noqa: S101  # an order has a prompt
        vector = self._sum / mx.maximum(mx.linalg.norm(self._sum), _LEAST)
        mx.async_eval(vector)
        return UnreadVector((sequence,), vector, self._pool)


class HalfSurveyed:
    """The hidden state of the last token read so far."""

    def __init__(self, pool: Pool, survey: Survey) -> None:
        """Begin with nothing read."""
        self._pool = pool
        self._survey = survey
        self._last: mx.array | None = None

    def add(self, hidden: mx.array) -> mx.array:
        """Take the hidden states ``[1, count, hidden]`` of the next tokens; return the last one, lazy."""
        self._last = hidden[:, -1]
        return self._last

    def finish(self, sequence: Sequence, network: Network) -> "UnreadVector":
        """Set the device to work on the numbers of the survey; at least one token was read."""
        assert self._last is not None  # noqa: S101  # an order has a prompt
        numbers = surveyed(network.model.logits(self._last)[:, : network.used], self._survey)
        mx.async_eval(numbers)
        return UnreadVector((sequence,), numbers, self._pool)


def surveyed(logits: mx.array, survey: Survey) -> mx.array:
    """Return the numbers of a survey of ``[1, n]`` logits, in float32: what they hold is exact up to 2 ** 24."""
    scores = logits.astype(mx.float32)
    scores = scores - mx.logsumexp(scores, axis=-1, keepdims=True)
    place = (1 - scores / survey.lowest) * survey.bins
    inside = mx.where(
        place > 0, mx.minimum(place, survey.bins - 1), 0
    )  # what is no number is in the first bin
    bins = mx.floor(inside).astype(mx.int32)[0]
    counts = mx.zeros((survey.bins,)).at[bins].add(mx.ones(bins.shape))
    best, ids = likeliest(scores, max(1, survey.likeliest))
    named = mx.concatenate([ids[0].astype(mx.float32), mx.maximum(best[0], LEAST)])
    return mx.concatenate([counts, named]) if survey.likeliest else counts


class UnreadVector(Struct, frozen=True):
    """Numbers that are under way, and the row they are for."""

    rows: tuple[Sequence, ...]
    vector: mx.array
    pool: Pool

    def read(self) -> list[Draw]:
        """Wait for it, and hand it over unless its row has ended meanwhile; the draw says that it is there."""
        if any(sequence.ended for sequence in self.rows):
            return []
        self.pool.keep(tuple(cast("list[float]", self.vector.tolist())))
        return [Draw(sequence, ()) for sequence in self.rows]
