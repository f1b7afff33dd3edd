"""Which rows of a batch guess, and how many tokens.

A row guesses where its text has what it needs (see ``lookup``), or a network guesses for it (see ``drafters``), and as
far as its draws do not depend on each other in other ways: never where each has a mask of its own, never beyond
``max_tokens``. How often its guesses were right says what further ones are worth (see ``rows``). What all of that is
worth to the batch decides how many tokens are guessed (see ``allowance``).

While a token is under way that nobody has read, a guess begins with that very token. If it is worth anything, the token
is read first, and the row guesses anew. A row that is wrong about it has lost a moment, and is judged like any other.

Nothing here changes what is said: only when.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from collections.abc import Sequence as SequenceOf

from msgspec import Struct, field

from mlxp_core.engine.sequence import Sequence
from mlxp_core.engine.speculation.allowance import Allowance
from mlxp_core.engine.speculation.rows import (
    UNKNOWN_DRAFT,
    UNKNOWN_LOOKUP,
    DraftingRow,
    Guess,
    LookingRow,
    Prior,
    Row,
)
from mlxp_core.engine.steps import Decode, Draw, Load, Outcome, Read, Step
from mlxp_core.types import EngineSettings

PAUSE = 3
"""Steps for which nobody looks after rows that guess on paper alone: so they cost next to nothing."""


class Guesses(Struct, frozen=True):
    """By ``Sequence.key``, what is guessed to be drawn next, or how many tokens the model's drafter is to guess."""

    known: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    drafts: Mapping[int, int] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.known or self.drafts)


class Guesser:
    """Guesses for the rows of all models."""

    def __init__(self, settings: EngineSettings, clock: Callable[[], float]) -> None:
        """Begin without rows.

        Args:
            settings: how to guess, and most tokens at once.
            clock: seconds that only grow.
        """
        self._on, self._drafting = settings.guessing, settings.drafting
        self._most = settings.speculate_tokens
        self._clock = clock
        self._able: set[str] = set()
        self._rows: dict[int, Row] = {}
        self._allowances: defaultdict[tuple[str, bool], Allowance] = defaultdict(Allowance)
        self._looked_up, self._drafted = Prior(UNKNOWN_LOOKUP), Prior(UNKNOWN_DRAFT)
        self._drafts = False  # whether a network guesses, or would, in what was asked for last
        self._pause = 0  # steps
        self._read_s: float | None = None  # when tokens were read last, if nothing but decoding came after
        self._plain_rows: int | None = (
            None  # for how many rows, if that was a step without guesses after another
        )

    def guess(self, rows: SequenceOf[Sequence]) -> Guesses:
        """Return what is guessed for the rows of the batch; nothing, if that would not pay.

        While tokens are under way that the rows do not know, the answer says only whether it is worth reading them.
        """
        if self._pause:
            self._pause -= 1
            return Guesses()
        if not rows or rows[0].order.model not in self._able:
            return Guesses()
        found = {sequence.key: self._guess_one(sequence) for sequence in rows}
        longest = max(map(len, found.values()))
        if not longest:
            self._pause = PAUSE if all(self._rows[sequence.key].doubtful for sequence in rows) else 0
            return Guesses()
        hopes = {
            width: sum(self._hope(key, min(len(guess), width - 1)) for key, guess in found.items())
            for width in range(2, longest + 2)
        }
        self._drafts = any(isinstance(guess, range) and guess for guess in found.values())
        width = self._allowance(rows[0]).width(len(rows), hopes)
        guesses = {key: guess[: width - 1] for key, guess in found.items() if guess and width > 1}
        return Guesses(
            {key: guess for key, guess in guesses.items() if isinstance(guess, tuple)},
            {key: len(guess) for key, guess in guesses.items() if isinstance(guess, range)},
        )

    def _allowance(self, sequence: Sequence) -> Allowance:
        """Return what is known of a model's steps: those in which a network guesses take longer."""
        return self._allowances[sequence.order.model, self._drafts]

    def _guess_one(self, sequence: Sequence) -> Guess:
        row = self._rows.get(sequence.key)
        if row is None:
            looking = LookingRow(sequence.prompt, self._looked_up)
            row = DraftingRow(looking, self._drafted) if self._drafting else looking
            self._rows[sequence.key] = row
        most = min(self._most, sequence.max_tokens - sequence.produced - sequence.unread - 1)
        guess = row.guess(sequence, max(0, most))
        return () if sequence.hold.waits(sequence.unread + len(guess)) else guess

    def _hope(self, key: int, guessed: int) -> float:
        """Return how many tokens a row may expect of a step with so many guesses."""
        trust = self._rows[key].trust
        return sum(trust**right for right in range(guessed + 1))

    # ── What came of it ─────────────────────────────────────────────────────────────────────────────────────────

    def settle(self, step: Step, outcome: Outcome) -> None:
        """Learn from a step that went well."""
        match step:
            case Load(model):
                able = self._on and outcome.kv is not None and outcome.kv.revocable
                self._able = self._able | {model} if able else self._able - {model}
            case Decode() | Read():
                if self._able and outcome.draws and not self._pause:
                    self._learn(step, outcome.draws)
                    return
        self._read_s = self._plain_rows = None

    def _learn(self, step: Decode | Read, draws: SequenceOf[Draw]) -> None:
        now_s, before_s, was_plain = self._clock(), self._read_s, self._plain_rows
        width = 1 + max(draw.guessed for draw in draws)
        self._read_s = now_s
        self._plain_rows = len(draws) if width == 1 and isinstance(step, Decode) else None
        for draw in draws:
            if draw.guessed:
                row = self._rows[draw.sequence.key]
                row.judge(len(draw.tokens) - 1, draw.guessed, draw.sequence.produced)
        if before_s is None:
            return
        seconds, first = now_s - before_s, draws[0].sequence
        if was_plain is not None and was_plain == self._plain_rows:
            for drafts in (False, True)[: 1 + self._drafting]:
                self._allowances[first.order.model, drafts].note_plain(len(draws), seconds)
        else:
            tokens = sum(len(draw.tokens) for draw in draws)
            self._allowance(first).note_other(len(draws), tokens, seconds, width=width)

    def forget_all_but(self, rows: Iterable[Sequence]) -> None:
        """Let go of rows that have ended."""
        if self._rows:
            alive = {sequence.key for sequence in rows}
            self._rows = {key: row for key, row in self._rows.items() if key in alive}
