"""Those that have a row, and whose turn it is: prompts that are being read, and the batch.

1. Prompts are read one after another, in the order in which rows were given.
2. Between two decode steps at most one chunk is read, so a long prompt never stalls the answers under way; between
   two chunks there is at most one decode step, so a full batch never stalls a prompt.
3. The first choice of a prompt reads it; its siblings fork from it. Should it fail, the next one reads. A request may
   have several prompts: their choices stand in line prompt by prompt, so one prefix at a time is kept for it.
4. Draws are counted when they are dispatched (``Sequence.unread``), so no row is asked for more than ``max_tokens``.
5. A batch with a constrained row is drawn and read in the same step, as the next mask follows from the token. What
   was drawn ahead is read first. Masks are begun with the decision, and waited for when there are logits.
6. The same goes for a batch with a row that guesses.
7. The first token of a batch is read before the next is drawn: somebody waits for it, and nobody for anything else.
   On a processor, dispatching a pass takes most of its time, and would come on top.
8. Before the first chunk of a prompt the prompt cache is asked for it, so that only the rest need be read. That is
   nobody's turn: the chunk follows at once.
"""

from collections import deque
from collections.abc import Iterable

from mlxp_core.engine.hold import Mask
from mlxp_core.engine.masking import MaskThreads
from mlxp_core.engine.outbox import Outbox
from mlxp_core.engine.room import Room
from mlxp_core.engine.sequence import Sequence
from mlxp_core.engine.speculation.guesser import Guesser
from mlxp_core.engine.steps import Decode, Fork, Outcome, Prefill, Read, Recall, Rest, Step
from mlxp_core.types import EngineSettings


class Rows:
    """The sequences that have a row.

    Attributes:
        prefilling: those whose prompt is being read, or will be.
        running: those in the batch.
    """

    def __init__(
        self, settings: EngineSettings, out: Outbox, room: Room, line: Iterable[Sequence], guesser: Guesser
    ) -> None:
        """Begin with nobody.

        Args:
            settings: chunk, prompt cache.
            out: takes what sequences say.
            room: says what memory rows leave.
            line: those that have no row yet, among whom siblings may be.
            guesser: says what rows may draw next.
        """
        self.prefilling: deque[Sequence] = deque()
        self.running: list[Sequence] = []
        self._settings = settings
        self._out = out
        self._room = room
        self._line = line
        self._guesser = guesser
        self._threads = MaskThreads()
        self._prefixes: dict[str, set[int]] = {}  # request id -> keys of the siblings that will fork
        self._decoded = False  # the last step that computed was a decode step

    def __len__(self) -> int:
        return len(self.running) + len(self.prefilling)

    @property
    def holders(self) -> list[Sequence]:
        """Return everybody who has a row."""
        return [*self.running, *self.prefilling]

    # ── Decisions ───────────────────────────────────────────────────────────────────────────────────────────────

    def next(self) -> Step:
        """Return the next step."""
        if self.prefilling and (self._decoded or not self.running):
            if self._settings.prompt_cache_bytes != 0 and not self.prefilling[0].recalled:
                return Recall(self.prefilling[0], self._room.spare(self.holders), wait=not self.running)
            self._decoded = False
            return self._next_chunk()
        draw = self._next_draw()
        self._decoded = not isinstance(draw, Read)  # a reading makes no row move, so it is nobody's turn
        return draw

    def _next_chunk(self) -> Step:
        """Go on with the prompt that is being read."""
        first = self.prefilling[0]
        forks = self._prefixes.get(first.request_id, set())
        if first.key in forks:
            return self._next_fork(forks)
        left = len(first.prompt) - first.read
        size = first.next_chunk(self._settings.prefill_chunk)
        if size < left:
            return Prefill(first, first.read, size, last=False)
        others = (s for s in (*self.prefilling, *self._line) if s is not first)
        siblings = tuple(s for s in others if s.forks_from(first))
        return Prefill(first, first.read, size, last=True, siblings=siblings, masks=self._masks((first,)))

    def _next_fork(self, forks: set[int]) -> Step:
        rows = tuple(s for s in self.prefilling if s.key in forks)
        return Fork(rows, self._masks(rows), self._room.spare(self.holders))

    def _next_draw(self) -> Step:
        unread = any(sequence.unread for sequence in self.running)
        wait = any(sequence.constrained for sequence in self.running)
        fresh = not any(sequence.taken for sequence in self.running)
        if unread and (wait or fresh):
            return Read()
        rows = tuple(sequence for sequence in self.running if sequence.wants_more)
        guesses = self._guesser.guess(rows)
        if guesses and unread:
            return Read()
        masks = self._masks(rows) if wait else {}
        for sequence in rows:
            sequence.unread += 1
        if rows:
            return Decode(rows, wait or bool(guesses), masks, guesses.known, guesses.drafts)
        return Read() if unread else Rest()

    def _masks(self, rows: tuple[Sequence, ...]) -> dict[int, Mask]:
        """Begin to compute what the rows allow that do not allow everything."""
        masks = {sequence.key: sequence.hold.mask() for sequence in rows}
        return {key: self._threads.begin(mask) for key, mask in masks.items() if mask is not None}

    # ── Results ─────────────────────────────────────────────────────────────────────────────────────────────────

    def move_on(self, step: Step, outcome: Outcome) -> None:
        """Take in what came of a step that went well."""
        self._guesser.settle(step, outcome)
        match step:
            case Recall(sequence):
                self._decoded = not outcome.recalled.waiting  # who waits for the disk lets the others go on
                sequence.recall(outcome.recalled)
            case Prefill(sequence, _, size, last, siblings):
                self._out.say(sequence, sequence.advance(size))
                if last:
                    self._seat((sequence,))
                    if siblings:
                        self._prefixes[sequence.request_id] = {sibling.key for sibling in siblings}
                        for sibling in siblings:
                            sibling.share(sequence)
            case Fork(rows):
                for sequence in rows:
                    self._prefixes[sequence.request_id].discard(sequence.key)
                    if not sequence.ended:
                        self._out.say(sequence, sequence.advance(len(sequence.prompt)))
                self._seat(tuple(sequence for sequence in rows if not sequence.ended))

    def _seat(self, rows: tuple[Sequence, ...]) -> None:
        for sequence in rows:
            sequence.unread = 1
            self.prefilling.remove(sequence)
            self.running.append(sequence)

    def forget_ended(self) -> None:
        """Let go of those that have ended."""
        self.running = [sequence for sequence in self.running if not sequence.ended]
        self.prefilling = deque(sequence for sequence in self.prefilling if not sequence.ended)
        alive = {sequence.key for sequence in (*self.prefilling, *self._line) if not sequence.ended}
        left = {request_id: keys & alive for request_id, keys in self._prefixes.items()}
        self._prefixes = {request_id: keys for request_id, keys in left.items() if keys}
        self._guesser.forget_all_but(self.running)
