"""What finished, counted: plain sums, so that counting a choice costs microseconds and needs no lock.

Used on the event-loop thread only; whoever writes it out elsewhere takes a copy.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from copy import deepcopy
from typing import Self

from msgspec import Struct

from mlxp_core.types import RequestRecord

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0)
"""Upper ends of the buckets for times."""

SPEEDS = (1.0, 2.0, 5.0, 10.0, 20.0, 35.0, 50.0, 75.0, 100.0, 150.0, 200.0, 300.0, 500.0, 1000.0)
"""Upper ends of the buckets for tokens per second."""


class Who(Struct, frozen=True):
    """Whose numbers: API surface and model id; both come from short lists."""

    protocol: str
    model: str


class Histogram:
    """How often a number fell into each bucket."""

    def __init__(self, ends: Sequence[float]) -> None:
        """Begin empty; ``ends`` are the buckets' upper ends, growing; a last one without an end is added."""
        self.ends = tuple(ends)
        self.counts = [0] * (len(ends) + 1)
        self.total = 0.0

    def add(self, value: float) -> None:
        """Count a number."""
        self.counts[bisect_left(self.ends, value)] += 1
        self.total += value


class Times:
    """How long the choices of one surface and model took."""

    def __init__(self) -> None:
        """Begin empty."""
        self.queue = Histogram(SECONDS)
        self.prefill = Histogram(SECONDS)
        self.decode = Histogram(SECONDS)
        self.first_token = Histogram(SECONDS)
        self.speed = Histogram(SPEEDS)


class Tally:
    """Everything that is counted.

    Attributes:
        ended: (who, reason) -> choices.
        tokens: (who, kind) -> tokens; kinds are the fields of ``Usage``.
        times: who -> how long; of choices that ended well.
    """

    def __init__(self) -> None:
        """Begin at zero."""
        self.ended: Counter[tuple[Who, str]] = Counter()
        self.tokens: Counter[tuple[Who, str]] = Counter()
        self.times: dict[Who, Times] = {}

    def add(self, record: RequestRecord) -> None:
        """Count a choice that ended."""
        who = Who(record.protocol, record.model)
        usage = record.usage
        self.ended[who, record.reason] += 1
        self.tokens[who, "prompt"] += usage.prompt
        self.tokens[who, "cached"] += usage.cached
        self.tokens[who, "completion"] += usage.completion
        self.tokens[who, "thinking"] += usage.thinking
        self.tokens[who, "guessed"] += usage.guessed
        self.tokens[who, "accepted"] += usage.accepted
        if record.error is None and record.reason != "cancelled":
            self._time(self.times.setdefault(who, Times()), record)

    def _time(self, times: Times, record: RequestRecord) -> None:
        timing, said = record.timing, record.usage.completion
        times.queue.add(timing.queued_s)
        times.prefill.add(timing.prefill_s)
        if said:  # vectors have no first token
            times.first_token.add(timing.queued_s + timing.prefill_s)
            times.decode.add(timing.decode_s)
        if said > 1 and timing.decode_s > 0:
            times.speed.add((said - 1) / timing.decode_s)

    def copy(self) -> Self:
        """Return one that stays as this is now."""
        return deepcopy(self)
