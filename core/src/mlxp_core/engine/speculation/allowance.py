"""Whether guessing pays, measured as it goes; pure arithmetic over seconds that others measured.

A step without guesses takes a batch of so many rows ``plain`` seconds. One that reads ``width`` tokens of every row
takes ``plain * (1 + slope * (width - 1))``, with a slope that the device has. Both are medians of the latest
measurements, as a machine that does something else in between makes some of them many times too long.

A step with guesses is worth what the tokens it brings would have taken without. What guessing has brought in so far,
less what it has cost, is the balance. Steps without guesses add a small share of their time to it, which is all that
guessing may ever lose: a step with guesses is taken if it promises enough, and the balance can bear what is expected
to come of it. What promises too little is tried now and then, as far as has been saved up, and else left alone.
"""

from collections import deque
from statistics import median

SHARE = 0.01
"""Of the time spent without guesses, what may be lost by guessing."""

LATEST = 9
"""Measurements that count."""

SAVED = 5.0
"""Plain steps that may be saved up, so that a long success does not pay for a long failure."""

ENOUGH = 0.1
"""Plain steps that a step with guesses must promise to save; less is lost in the noise, and in turning."""

FEW = 3
"""Passes measured before the slope is believed. They are the narrowest ones, as nobody knows what they cost."""

OLD = 64
"""Steps with guesses after which a few without are wanted, as rows have grown and the machine may have changed."""

UNUSUAL = 2.0
"""How many times longer than expected a step may seem to have taken; the rest is not its own doing."""


class _Batch:
    """What was measured with one number of rows."""

    def __init__(self) -> None:
        self._plain: deque[float] = deque(maxlen=LATEST)
        self._slopes: deque[float] = deque(maxlen=LATEST)
        self._median_s: float | None = None  # of ``_plain``, once somebody has asked
        self.slope = 0.0
        self.age = 0  # steps with guesses since the last plain one

    @property
    def plain_s(self) -> float:
        """Return how long a step without guesses takes; 0 = not known."""
        if self._median_s is None:
            self._median_s = median(self._plain) if self._plain else 0.0
        return self._median_s

    @property
    def measured(self) -> bool:
        return len(self._slopes) >= FEW

    def note_plain(self, seconds: float) -> None:
        self._plain.append(seconds)
        self._median_s = None
        self.age = 0

    def note_wide(self, width: int, seconds: float) -> None:
        self._slopes.append(max(0.0, (seconds / self.plain_s - 1) / (width - 1)))
        self.slope = median(self._slopes) if self.measured else 0.0
        self.age += 1

    def expected_s(self, width: int) -> float:
        return self.plain_s * (1 + self.slope * (width - 1))


class Allowance:
    """The measurements and the balance of one model."""

    def __init__(self) -> None:
        """Begin without any."""
        self._batches: dict[int, _Batch] = {}
        self._balance_s = 0.0
        self._earned_s = 0.0  # and not in the balance yet

    def note_plain(self, rows: int, seconds: float) -> None:
        """Note a step without guesses that followed another one."""
        batch = self._batches.setdefault(rows, _Batch())
        batch.note_plain(seconds)
        self._earned_s += SHARE * seconds  # that is all there is to most steps, so it must cost nothing

    def note_other(self, rows: int, tokens: int, seconds: float, *, width: int = 1) -> None:
        """Note a step with guesses, by the ``width`` of its pass, or one that lost time by turning from or to one."""
        batch = self._batches.get(rows)
        if batch is None or not batch.plain_s:
            return
        cost_s = min(seconds, UNUSUAL * batch.expected_s(width)) if batch.measured else seconds
        self._earn(batch, batch.plain_s * tokens / rows - cost_s)
        if width > 1:
            batch.note_wide(width, seconds)

    def width(self, rows: int, hopes: dict[int, float]) -> int:
        """Return how wide the next pass had better be; 1 = without guesses.

        Args:
            rows: of the batch.
            hopes: width -> tokens that such a pass is expected to bring, all rows together.
        """
        batch = self._batches.get(rows)
        if batch is None or not batch.plain_s or batch.age >= OLD:
            return 1
        self._earn(batch)
        gains_s = {
            width: batch.plain_s * tokens / rows - batch.expected_s(width) for width, tokens in hopes.items()
        }
        best = max(gains_s, key=lambda width: gains_s[width]) if batch.measured else min(gains_s)
        if gains_s[best] < ENOUGH * batch.plain_s:
            if self._balance_s < SAVED * batch.plain_s:
                return 1
            self._balance_s -= batch.plain_s  # so that the next trial is some time away
        return best if self._balance_s + gains_s[best] >= 0 else 1

    def _earn(self, batch: _Batch, seconds: float = 0.0) -> None:
        most_s = SAVED * batch.plain_s
        self._balance_s = min(min(self._balance_s + self._earned_s, most_s) + seconds, most_s)
        self._earned_s = 0.0
