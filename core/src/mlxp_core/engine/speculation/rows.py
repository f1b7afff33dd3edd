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

SHARED_INERTIA = 0.98
"""Weight of the past in the trust in rows that have not guessed yet."""


class Prior:
    """The trust that rows of one kind have earned lately, for those to come."""

    def __init__(self, trust: float) -> None:
        """Begin with what is taken for granted."""
        self.trust = trust

    def note(self, trust: float) -> None:
        """Note a row's trust after it has learned something."""
        self.trust = SHARED_INERTIA * self.trust + (1 - SHARED_INERTIA) * trust


Guess = tuple[int, ...] | range
"""Tokens; or, where a network is to guess them, how many."""


class Row(Protocol):
    """What the guesser asks of a row."""

    @property
    def trust(self) -> float:
        """Return the chance that a token is right that was guessed last."""
        ...

    def guess(self, sequence: Sequence, most: int) -> Guess:
        """Return at most ``most`` tokens."""
        ...

    @property
    def doubtful(self) -> bool:
        """Say whether it will guess nothing before it has been right on paper."""
        ...

    def judge(self, right: int, guessed: int, produced: int) -> None:
        """Learn how many guesses of a pass were right; the row has ``produced`` so many tokens."""
        ...


class LookingRow:
    """A row that looks up (see ``lookup``).

    At every token it sees whether that is what it would have guessed. So it costs nothing to know whether its text
    repeats itself, and a row whose text does not never guesses.
    """

    def __init__(self, prompt: SequenceOf[int], prior: Prior) -> None:
        """Begin with a prompt, and with the trust that other rows have earned."""
        self.trust = prior.trust
        self._prior = prior
        self._lookup = Lookup(prompt)
        self._prompt = len(prompt)
        self._foreseen = self._lookup.next()
        self._judged = 0  # tokens to come that a pass has tried

    @property
    def doubtful(self) -> bool:
        """Say whether it guesses on paper alone."""
        return self.trust < LEAST_TRUST

    def guess(self, sequence: Sequence, most: int) -> tuple[int, ...]:
        """Return what followed before, if the row is trusted; see ``Row.guess``."""
        self._look_back(sequence.taken[len(self._lookup) - self._prompt :])
        return () if self.doubtful else self._lookup.guess(most)

    def _look_back(self, new: SequenceOf[int]) -> None:
        for token in new:
            if self._judged:
                self._judged -= 1
            elif self._foreseen is not None:
                self._learn(float(self._foreseen == token))
            self._lookup.extend((token,))
            self._foreseen = self._lookup.next()

    def judge(self, right: int, guessed: int, produced: int) -> None:  # noqa: ARG002  # trust alone decides
        """Learn from a pass."""
        self._judged = right + 1
        self._learn(right / min(right + 1, guessed))

    def _learn(self, share: float) -> None:
        self.trust = PAPER_INERTIA * self.trust + (1 - PAPER_INERTIA) * share
        self._prior.note(self.trust)


class DraftingRow:
    """A row for which a network guesses, unless what is looked up is right more often, which costs less.

    Drafts cannot be tried on paper; if they are wrong again and again, the row rests.
    """

    def __init__(self, looking: LookingRow, prior: Prior) -> None:
        """Begin with the trust that other rows have earned."""
        self._looking, self._prior = looking, prior
        self._trust = prior.trust
        self._known = False  # what was guessed last was looked up
        self._failures = 0  # in turn
        self._rests_until = 0

    @property
    def doubtful(self) -> bool:
        """Say no: its drafts are tried."""
        return False

    @property
    def trust(self) -> float:
        """Return the chance that a token is right that was guessed last."""
        return self._looking.trust if self._known else self._trust

    def guess(self, sequence: Sequence, most: int) -> Guess:
        """Return what was looked up, or how many tokens the network is to guess."""
        known = self._looking.guess(sequence, most)
        self._known = bool(known) and self._looking.trust >= self._trust
        if self._known:
            return known
        return range(0 if sequence.produced < self._rests_until else most)

    def judge(self, right: int, guessed: int, produced: int) -> None:
        """Learn from a pass."""
        if self._known:
            self._looking.judge(right, guessed, produced)
            return
        share = right / min(right + 1, guessed)
        self._trust = INERTIA * self._trust + (1 - INERTIA) * share
        self._prior.note(self._trust)
        self._failures = 0 if right else self._failures + 1
        if self._failures > PATIENCE:
            self._rests_until = produced + min(LONGEST_REST, 2 ** (self._failures - PATIENCE))
