"""Changes of the logits by what the request says and what has been generated: bias, repetition, presence, frequency.

The tokens of the last step may be unknown to the host when the next one is computed, so what has been generated is
kept on the device. Each kind keeps state only for the rows that use it; a batch without such rows pays nothing.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol, Self

import mlx.core as mx

from mlxp_core.errors import BadRequest
from mlxp_core.sampling.rows import Rows, follow
from mlxp_core.types import Sampling


class Adjustment(Protocol):
    """One kind of change, for those rows of a batch that use it."""

    rows: list[int]
    """The batch's rows that use it."""

    def apply(self, logits: mx.array) -> mx.array:
        """Return ``[rows, n]`` float32 logits with this kind's rows changed."""
        ...

    def observe(self, tokens: mx.array) -> None:
        """Take the tokens just drawn, ``[rows]`` int32."""
        ...

    def take(self, tokens: Sequence[Sequence[int]]) -> None:
        """Take tokens that the host knows: for each row of the batch, those that follow, any number of them."""
        ...

    def join(self, other: Self, offset: int) -> None:
        """Append the rows of ``other``, whose batch comes after ``offset`` rows."""
        ...

    def keep(self, rows: Sequence[int]) -> None:
        """Keep only these rows of the batch, in this order."""
        ...


class Bias:
    """Numbers added to the logits of some tokens."""

    def __init__(self, bias: Mapping[int, float], size: int) -> None:
        """Start with one row.

        Raises:
            BadRequest: a token id is not among the ``size`` tokens that can be drawn.
        """
        for token in bias:
            if not 0 <= token < size:
                message = f"logit_bias: token id {token} is outside the vocabulary (0 to {size - 1})"
                raise BadRequest(message, param="logit_bias")
        self._biases = [dict(bias)] if bias else []
        self.rows = [0] if bias else []
        self._pairs: tuple[mx.array, mx.array, mx.array] | None = None

    def apply(self, logits: mx.array) -> mx.array:
        """Return the logits with the numbers added."""
        if not self.rows:
            return logits
        if self._pairs is None:
            flat = [
                (row, token, number)
                for row, bias in zip(self.rows, self._biases, strict=True)
                for token, number in bias.items()
            ]
            rows, tokens, numbers = zip(*flat, strict=True)
            self._pairs = mx.array(rows), mx.array(tokens), mx.array(numbers, dtype=mx.float32)
        at_rows, at_tokens, added = self._pairs
        return logits.at[at_rows, at_tokens].add(added)

    def observe(self, tokens: mx.array) -> None:
        """Do nothing: a bias does not depend on what was generated."""

    def take(self, tokens: Sequence[Sequence[int]]) -> None:
        """Do nothing, as above."""

    def join(self, other: Self, offset: int) -> None:
        """Append the rows of ``other``."""
        self.rows = self.rows + [offset + row for row in other.rows]
        self._biases = self._biases + other._biases
        self._pairs = None

    def keep(self, rows: Sequence[int]) -> None:
        """Keep only these rows."""
        mine, self.rows = follow(self.rows, rows)
        self._biases = [self._biases[index] for index in mine]
        self._pairs = None


class Repetition:
    """The repetition penalty: over the last tokens of prompt and answer, each once however often it occurs.

    A logit below 0 is multiplied by the penalty, any other divided by it (Keskar et al.: "CTRL", 2019, section 4.1).
    """

    def __init__(self, sampling: Sampling, prompt: Sequence[int], size: int) -> None:
        """Start with one row.

        Raises:
            BadRequest: the penalty is negative.
        """
        factor = sampling.repetition_penalty or 1.0
        if factor < 0:
            message = f"repetition_penalty: {factor} is negative; use a number above 0, 1 switches it off"
            raise BadRequest(message, param="repetition_penalty")
        window = sampling.repetition_window
        used = factor != 1 and window > 0
        self._size = size
        self.rows = [0] if used else []
        self._factors = [factor] if used else []
        self._windows = [window] if used else []
        recent = [token if token < size else -1 for token in prompt[-window:]] if used else []
        self._recent = mx.array([[-1] * (window - len(recent)) + recent], dtype=mx.int32) if used else None
        self._columns: tuple[mx.array, mx.array] | None = None

    def apply(self, logits: mx.array) -> mx.array:
        """Return the logits with recent tokens made less likely (or more, by a penalty below 1)."""
        if self._recent is None:
            return logits
        if self._columns is None:
            widest = self._recent.shape[1]
            outside = mx.array([[widest - window] for window in self._windows], dtype=mx.int32)
            inside = mx.arange(widest, dtype=mx.int32) >= outside
            self._columns = inside, mx.array(self._factors, dtype=mx.float32)[:, None]
        inside, factors = self._columns
        # [mine, widest]. Empty places repeat a token of the window: to write one result twice does no harm.
        recent = mx.where(inside, self._recent, -1)
        some = mx.max(recent, axis=-1, keepdims=True)
        factors = mx.where(some >= 0, factors, 1.0)
        recent = mx.maximum(mx.where(recent >= 0, recent, some), 0)

        def penalize(own: mx.array) -> mx.array:
            old = mx.take_along_axis(own, recent, axis=-1)
            new = mx.where(old < 0, old * factors, old / factors)
            return mx.put_along_axis(own, recent, new, axis=-1)

        return Rows(self.rows, logits.shape[0]).edit(logits, penalize)

    def observe(self, tokens: mx.array) -> None:
        """Move the windows on by the tokens just drawn."""
        if self._recent is not None:
            drawn = Rows(self.rows, tokens.shape[0]).take(tokens)
            self._recent = mx.concatenate([self._recent[:, 1:], drawn[:, None]], axis=1)

    def take(self, tokens: Sequence[Sequence[int]]) -> None:
        """Move the windows on by so many tokens as each row has."""
        own = [tokens[row] for row in self.rows]
        most = max((len(row) for row in own), default=0)
        if self._recent is None or most == 0:
            return
        known = [[token if token < self._size else -1 for token in row] for row in own]
        new = mx.array([row + [-1] * (most - len(row)) for row in known], dtype=mx.int32)
        counts = mx.array([len(row) for row in own], dtype=mx.int32)
        places = counts[:, None] + mx.arange(self._recent.shape[1])
        self._recent = mx.take_along_axis(mx.concatenate([self._recent, new], axis=1), places, axis=1)

    def join(self, other: Self, offset: int) -> None:
        """Append the rows of ``other``; the narrower windows get empty places in front."""
        self.rows = self.rows + [offset + row for row in other.rows]
        self._factors = self._factors + other._factors
        self._windows = self._windows + other._windows
        self._columns = None
        if self._recent is None or other._recent is None:
            self._recent = other._recent if self._recent is None else self._recent
            return
        widest = max(self._windows)
        both = [
            mx.pad(part, [(0, 0), (widest - part.shape[1], 0)], constant_values=-1)
            for part in (self._recent, other._recent)
        ]
        self._recent = mx.concatenate(both)

    def keep(self, rows: Sequence[int]) -> None:
        """Keep only these rows; the windows shrink to the widest that is left."""
        mine, self.rows = follow(self.rows, rows)
        self._factors = [self._factors[index] for index in mine]
        self._windows = [self._windows[index] for index in mine]
        self._columns = None
        if self._recent is not None:
            self._recent = self._recent[mx.array(mine)][:, -max(self._windows) :] if mine else None


class Occurrence:
    """Presence and frequency penalties over the generated tokens: ``logit - presence * (n > 0) - frequency * n``."""

    def __init__(self, sampling: Sampling, size: int) -> None:
        """Start with one row."""
        used = bool(sampling.presence_penalty or sampling.frequency_penalty)
        self.rows = [0] if used else []
        self._penalties = [(sampling.presence_penalty, sampling.frequency_penalty)] if used else []
        self._counts = (
            mx.zeros((1, size), dtype=mx.float32) if used else None
        )  # whole numbers, exact to 2**24
        self._columns: mx.array | None = None

    def apply(self, logits: mx.array) -> mx.array:
        """Return the logits with what was generated made less likely (or more, by negative penalties)."""
        counts = self._counts
        if counts is None:
            return logits
        if self._columns is None:
            self._columns = mx.array(self._penalties, dtype=mx.float32)
        presence, frequency = self._columns[:, :1], self._columns[:, 1:]
        penalty = presence * (counts > 0) + frequency * counts
        return Rows(self.rows, logits.shape[0]).edit(logits, lambda own: own - penalty)

    def observe(self, tokens: mx.array) -> None:
        """Count the tokens just drawn."""
        if self._counts is not None:
            drawn = Rows(self.rows, tokens.shape[0]).take(tokens)
            self._counts = self._counts.at[mx.arange(len(self.rows)), drawn].add(1.0)

    def take(self, tokens: Sequence[Sequence[int]]) -> None:
        """Count so many tokens as each row has."""
        if self._counts is None:
            return
        size = self._counts.shape[1]
        pairs = [(mine, token) for mine, row in enumerate(self.rows) for token in tokens[row] if token < size]
        if pairs:
            rows, taken = zip(*pairs, strict=True)
            self._counts = self._counts.at[mx.array(rows), mx.array(taken)].add(1.0)

    def join(self, other: Self, offset: int) -> None:
        """Append the rows of ``other``."""
        self.rows = self.rows + [offset + row for row in other.rows]
        self._penalties = self._penalties + other._penalties
        self._columns = None
        parts = [part for part in (self._counts, other._counts) if part is not None]
        self._counts = mx.concatenate(parts) if parts else None

    def keep(self, rows: Sequence[int]) -> None:
        """Keep only these rows."""
        mine, self.rows = follow(self.rows, rows)
        self._penalties = [self._penalties[index] for index in mine]
        self._columns = None
        if self._counts is not None:
            self._counts = self._counts[mx.array(mine)] if mine else None
