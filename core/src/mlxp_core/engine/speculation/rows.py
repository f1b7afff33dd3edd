"""One row that guesses: what it guesses, how often that was right, and when it had better not."""

from collections.abc import Sequence as SequenceOf
from typing import Protocol

from mlxp_core.engine.sequence import Sequence
from mlxp_core.engine.speculation.lookup import Lookup

LEAST_TRUST = 0.5
"""Share of right guesses from which on what was looked up is really guessed; below it is tried on paper."""

UNKNOWN_LOOKUP, UNKNOWN_DRAFT = 0.25, 0.5
"""Share of right guesses before anything is known."""

PAPER_INERTIA, INERTIA = 0.8, 0.7
"""Weight of the past in a row's trust: where each token is judged, and where each pass is."""

PATIENCE = 4
"""Drafts that may be all wrong in turn before a row rests."""

LONGEST_REST = 64
"""Tokens."""


class Row(Protocol):
    """What the guesser asks of a row."""

    trust: float
    """Chance that a guessed token is right."""

    def guess(self, sequence: Sequence, most: int) -> SequenceOf[int]:
        """Return at most ``most`` tokens; where a network is to guess them, only their number means anything."""
        ...

    def try_for_real(self) -> None:
        """Note that a pass tries what was guessed."""
        ...

    def judge(self, right: int, guessed: int, produced: int) -> None:
        """Learn how many guesses of a pass were right; the row has ``produced`` so many tokens."""
        ...


class LookingRow:
    """A row that looks up (see ``lookup``).

    At every token it notes what it would guess, and sees whether that comes. So it costs nothing to know whether its
    text repeats itself, and a row whose text does not never guesses.
    """

    def __init__(self, prompt: SequenceOf[int], trust: float) -> None:
        """Begin with a prompt, and with the trust that other rows have earned."""
        self.trust = trust
        self._lookup = Lookup(prompt)
        self._prompt = len(prompt)
        self._awaited: int | None = None  # on paper, or by a pass that reads it before it goes on

    def guess(self, sequence: Sequence, most: int) -> tuple[int, ...]:
        """Return what followed before, if the row is trusted; see ``Row.guess``."""
        self._look_back(sequence.taken[len(self._lookup) - self._prompt :])
        if self.trust < LEAST_TRUST:
            self._awaited = self._lookup.next()
            return ()
        guess = self._lookup.guess(most)
        self._awaited = guess[0] if guess else None
        return guess

    def _look_back(self, new: SequenceOf[int]) -> None:
        if not new:
            return
        if self._awaited is not None:
            self._learn(float(self._awaited == new[0]))
            self._awaited = None
        self._lookup.extend(new)

    def try_for_real(self) -> None:
        """Leave the judgement to the pass."""
        self._awaited = None

    def judge(self, right: int, guessed: int, produced: int) -> None:  # noqa: ARG002  # trust alone decides
        """Learn from a pass."""
        self._learn(right / min(right + 1, guessed))

    def _learn(self, share: float) -> None:
        self.trust = PAPER_INERTIA * self.trust + (1 - PAPER_INERTIA) * share


class DraftingRow:
    """A row for which a network guesses. It cannot be tried on paper; if it is wrong again and again, the row rests."""

    def __init__(self, trust: float) -> None:
        """Begin with the trust that other rows have earned."""
        self.trust = trust
        self._failures = 0  # in turn
        self._rests_until = 0

    def guess(self, sequence: Sequence, most: int) -> range:
        """Return how many tokens to guess, as a range; see ``Row.guess``."""
        return range(0 if sequence.produced < self._rests_until else most)

    def try_for_real(self) -> None:
        """Do nothing."""

    def judge(self, right: int, guessed: int, produced: int) -> None:
        """Learn from a pass."""
        share = right / min(right + 1, guessed)
        self.trust = INERTIA * self.trust + (1 - INERTIA) * share
        self._failures = 0 if right else self._failures + 1
        if self._failures > PATIENCE:
            self._rests_until = produced + min(LONGEST_REST, 2 ** (self._failures - PATIENCE))
