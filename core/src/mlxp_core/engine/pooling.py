"""From the hidden states of a prompt, chunk by chunk, to the vector of its text.

With ``h_i`` the hidden state of token ``i``, counted from 1, the vector is, before it is brought to length 1:

- ``last``: ``h_n``;
- ``mean``: ``sum(h_i) / n``;
- ``weighted_mean``: ``sum(i * h_i) / sum(i)`` (SGPT, https://arxiv.org/abs/2202.08904, section 3.1).

The division changes the length alone, so it is left out.
"""

from typing import cast

import mlx.core as mx
from msgspec import Struct

from mlxp_core.engine.orders import Pool
from mlxp_core.engine.sequence import Sequence
from mlxp_core.engine.steps import Draw

_LEAST = 1e-30  # keeps a sum of zeros from being divided by zero


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
            case "weighted_mean":
                places = mx.arange(self._read + 1, self._read + count + 1, dtype=mx.float32)
                total = (states.astype(mx.float32) * places[:, None]).sum(axis=0)
        if self._sum is not None and self._pool.pooling != "last":
            total = self._sum + total
        self._read += count
        self._sum = total
        return total

    def finish(self, sequence: Sequence) -> "UnreadVector":
        """Bring the sum to length 1 and set the device to work; at least one token was read."""
        assert self._sum is not None  # noqa: S101  # an order has a prompt
        vector = self._sum / mx.maximum(mx.linalg.norm(self._sum), _LEAST)
        mx.async_eval(vector)
        return UnreadVector((sequence,), vector, self._pool)


class UnreadVector(Struct, frozen=True):
    """A vector ``[hidden]`` that is under way, and the row it is for."""

    rows: tuple[Sequence, ...]
    vector: mx.array
    pool: Pool

    def read(self) -> list[Draw]:
        """Wait for it, and hand it over unless its row has ended meanwhile; the draw says that it is there."""
        if any(sequence.ended for sequence in self.rows):
            return []
        self.pool.keep(tuple(cast("list[float]", self.vector.tolist())))
        return [Draw(sequence, ()) for sequence in self.rows]
