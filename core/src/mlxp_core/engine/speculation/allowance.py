"""Whether guessing pays, measured as it goes; pure arithmetic over seconds that others measured.

A step without guesses takes a batch of so many rows ``plain`` seconds. One that reads ``width`` tokens of every row
takes ``plain * (1 + slope * (width - 1))``, with a slope that the device has and that is measured. It is worth what the
tokens it brings would have taken without guesses. What guessing has brought in so far, less what it has cost, is the
balance. Steps without guesses add a small share of their time to it, which is all that guessing may ever lose; while
the balance is negative, nothing is guessed.
"""

SHARE = 0.01
"""Of the time spent without guesses, what may be lost by guessing."""

INERTIA = 0.8
"""Weight of the past in what is smoothed."""

SAVED = 10.0
"""Plain steps that may be saved up, so that a long success does not pay for a long failure."""


class Allowance:
    """The measurements of one model, by number of rows."""

    def __init__(self) -> None:
        """Begin without any."""
        self._plain: dict[int, float] = {}
        self._slope: dict[int, float] = {}
        self._balance = 0.0

    def plain(self, rows: int, seconds: float) -> None:
        """Note a step without guesses that followed another one."""
        so_far = self._plain.get(rows)
        self._plain[rows] = seconds if so_far is None else _smoothed(so_far, seconds)
        self._earn(rows, SHARE * seconds)

    def other(self, rows: int, tokens: int, seconds: float, *, width: int = 1) -> None:
        """Note a step with guesses, by the ``width`` of its pass, or one that lost time by turning from or to one."""
        plain = self._plain.get(rows)
        if plain is None:
            return
        self._earn(rows, plain * tokens / rows - seconds)
        if width > 1:
            slope = max(0.0, (seconds / plain - 1) / (width - 1))
            self._slope[rows] = _smoothed(self._slope.get(rows, slope), slope)

    def width(self, rows: int, hopes: dict[int, float]) -> int:
        """Return how wide the next pass had better be; 1 = without guesses.

        Args:
            rows: of the batch.
            hopes: width -> tokens that such a pass is expected to bring, all rows together.
        """
        if rows not in self._plain or self._balance < 0:
            return 1
        slope = self._slope.get(rows, 0.0)
        worth = {width: tokens / rows / (1 + slope * (width - 1)) for width, tokens in hopes.items()}
        best = max(worth, key=lambda width: worth[width], default=1)
        return best if worth.get(best, 0.0) > 1 else 1

    def _earn(self, rows: int, seconds: float) -> None:
        self._balance = min(self._balance + seconds, SAVED * self._plain[rows])


def _smoothed(so_far: float, new: float) -> float:
    return INERTIA * so_far + (1 - INERTIA) * new
