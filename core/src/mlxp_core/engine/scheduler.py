"""What to do next: pure decisions about rows, without arrays, threads or clocks of its own.

A choice waits in line, gets a row, has its prompt read chunk by chunk, then steps with the batch until it ends. It
holds its row from the first chunk to its last event; there are never more rows than ``EngineSettings.batch``.

1. Rows are given in the order of the line (see ``line``), as far as there is memory for them (see ``room``); what can
   never fit is refused before it stands in line. Prompts are read one after another, in the same order.
2. Between two decode steps at most one chunk is read, so a long prompt never stalls the answers under way; between
   two chunks there is at most one decode step, so a full batch never stalls a prompt.
3. The first choice of a prompt reads it; its siblings fork from it. Should it fail, the next one reads. A request may
   have several prompts: their choices stand in line prompt by prompt, so one prefix at a time is kept for it.
4. Draws are counted when they are dispatched (``Sequence.unread``), so no row is asked for more than ``max_tokens``.
5. A batch with a constrained row is drawn and read in the same step, as the next mask follows from the token. What
   was drawn ahead is read first.
6. Before the first chunk of a prompt the prompt cache is asked for it, so that only the rest need be read. That is
   nobody's turn: the chunk follows at once.
7. Models and adapters come and go between steps, before rows move (see ``errands``).
8. Whatever ends is freed by the next step, whichever it is; if nothing else is to be done, that is a ``Rest``.
"""

from collections import deque
from collections.abc import Callable, Iterable
from functools import partial
from itertools import count

from mlxp_core.engine.errands import Errands
from mlxp_core.engine.faults import contained
from mlxp_core.engine.house import House
from mlxp_core.engine.line import WaitingLine
from mlxp_core.engine.mailbox import Deliveries
from mlxp_core.engine.orders import Cancel, CancelAll, Close, Message, Mount, Shelve, Submit, Unmount
from mlxp_core.engine.outbox import Outbox
from mlxp_core.engine.residents import Residents, ShelfRules
from mlxp_core.engine.room import Room
from mlxp_core.engine.sequence import Recalled, Sequence
from mlxp_core.engine.stats import Counts, Totals
from mlxp_core.engine.steps import Decode, Draw, Fork, Load, Outcome, Prefill, Read, Recall, Rest, Step
from mlxp_core.errors import EngineFault, MlxpError, Unavailable
from mlxp_core.memory import Admission
from mlxp_core.types import EngineSettings, EngineStats, RequestRecord


class Scheduler:
    """Decides step by step. ``apply``, ``next_step`` and ``settle`` are called in turn, always in this order."""

    def __init__(
        self,
        models: Iterable[str],
        settings: EngineSettings,
        clock: Callable[[], float],
        admission: Admission | None = None,
        *,
        shelf: ShelfRules = ShelfRules(),  # noqa: B008  # frozen
    ) -> None:
        """Begin with nothing loaded.

        Args:
            models: all that are on offer, the default one first.
            settings: rows, chunk.
            clock: seconds that only grow.
            admission: counts the memory; ``None`` = nobody does.
            shelf: which models stay, and how long the others do.
        """
        self._settings = settings
        self._clock = clock
        self._line = WaitingLine(patience=settings.batch)
        self._room = Room(admission)
        residents = Residents(models, shelf, fits=self._room.together, clock=clock)
        self._errands = Errands(residents, loaded=shelf.loaded)
        self._room.note(*self._errands.present)
        self._prefilling: deque[Sequence] = deque()
        self._running: list[Sequence] = []
        self._prefixes: dict[str, set[int]] = {}  # request id -> keys of the siblings that will fork
        self._keys = count()
        self._decoded = False  # the last step that computed was a decode step
        self._deadline_s: float | None = None
        self._totals = Totals()
        self._counts = Counts()
        self._out = Outbox(clock, record=self._ended)

    @property
    def idle(self) -> bool:
        """Say whether there is nothing to do, nor to free, until a message comes."""
        busy = self._line or self._prefilling or self._running or self._out.ended
        return not (busy or self._errands.next(self._house))

    @property
    def rest_s(self) -> float | None:
        """Return how long there is nothing to do when ``idle``, unless a message comes; ``None`` = for ever."""
        return self._errands.rest_s(self._house)

    # ── Messages ────────────────────────────────────────────────────────────────────────────────────────────────

    def apply(self, messages: Iterable[Message]) -> None:
        """Take in what came by mail."""
        for message in messages:
            match message:
                case Submit(orders, at_s):
                    for order in orders:
                        self._queue(Sequence(next(self._keys), order, at_s))
                case Cancel(request_id):
                    self._cancel(s for s in self._everybody() if s.request_id == request_id)
                case CancelAll():
                    self._cancel(self._everybody())
                case Mount() | Unmount() | Shelve():
                    self._errands.take(message)
                case Close(deadline_s):
                    self._close(deadline_s)
        if self._deadline_s is not None and self._clock() >= self._deadline_s:
            self._cancel(self._everybody())

    def _queue(self, sequence: Sequence) -> None:
        fault = self._room.refusal(sequence)
        if fault is None:
            self._line.join(sequence)
        else:
            self._out.fail((sequence,), fault)

    def _everybody(self) -> list[Sequence]:
        return [*self._running, *self._prefilling, *self._line]

    @property
    def _house(self) -> House:
        return House(self._holders, self._line)

    def _cancel(self, sequences: Iterable[Sequence]) -> None:
        now_s = self._clock()
        for sequence in sequences:
            self._out.say(sequence, contained(sequence.cancel, now_s))
        self._forget_ended()

    def _close(self, deadline_s: float) -> None:
        """Send away who waits; let the others go on until the deadline, the earliest one if there are several."""
        self._deadline_s = deadline_s if self._deadline_s is None else min(deadline_s, self._deadline_s)
        why = Unavailable("the server is stopping; send the request again later")
        self._errands.abandon(why)
        self._out.fail(self._line.clear(), why)

    # ── Decisions ───────────────────────────────────────────────────────────────────────────────────────────────

    def next_step(self) -> Step:
        """Decide."""
        house = self._house
        errand = self._errands.next(house, cramped=lambda: self._cramped(house))
        match errand:
            case None:
                pass
            case Load(model):
                return Load(model, self._room.left_by(model))
            case _:
                return errand
        if not self._errands.holding(house):
            self._admit()
        if self._prefilling and (self._decoded or not self._running):
            if self._settings.prompt_cache_bytes != 0 and not self._prefilling[0].recalled:
                spare = self._room.spare(self._holders)
                return Recall(self._prefilling[0], spare, wait=not self._running)
            self._decoded = False
            step = self._next_chunk()
            if step is not None:
                return step
        draw = self._next_draw()
        self._decoded = not isinstance(draw, Read)  # a reading makes no row move, so it is nobody's turn
        return draw

    def _cramped(self, house: House) -> bool:
        return house.first is not None and self._room.cramped(house.first)

    def _admit(self) -> None:
        now_s = self._clock()
        while len(holders := self._holders) < self._settings.batch:
            model = holders[0].order.model if holders else None
            sequence = self._line.call(model, partial(self._room.fits, holders))
            if sequence is None:
                return
            self._prefilling.append(sequence)
            self._errands.use(sequence.order.model)
            self._out.say(sequence, sequence.begin(now_s))

    @property
    def _holders(self) -> list[Sequence]:
        return [*self._running, *self._prefilling]

    def _next_chunk(self) -> Step | None:
        """Go on with the prompt that is being read; ``None`` if a row failed instead."""
        first = self._prefilling[0]
        forks = self._prefixes.get(first.request_id, set())
        if first.key in forks:
            return self._next_fork(forks)
        left = len(first.prompt) - first.read
        size = first.next_chunk(self._settings.prefill_chunk)
        if size < left:
            return Prefill(first, first.read, size, last=False)
        masks = self._masks((first,))
        if first.ended:
            return None
        others = (s for s in (*self._prefilling, *self._line) if s is not first)
        siblings = tuple(s for s in others if s.forks_from(first))
        return Prefill(first, first.read, size, last=True, siblings=siblings, mask=masks.get(first.key))

    def _next_fork(self, forks: set[int]) -> Step | None:
        rows = tuple(s for s in self._prefilling if s.key in forks)
        masks = self._masks(rows)
        rows = tuple(s for s in rows if not s.ended)
        return Fork(rows, masks, self._room.spare(self._holders)) if rows else None

    def _next_draw(self) -> Step:
        unread = any(sequence.unread for sequence in self._running)
        wait = any(sequence.constrained for sequence in self._running)
        if wait and unread:
            return Read()
        masks = self._masks(tuple(self._running)) if wait else {}
        rows = tuple(sequence for sequence in self._running if sequence.wants_more)
        for sequence in rows:
            sequence.unread += 1
        if rows:
            return Decode(rows, wait, masks)
        return Read() if unread else Rest()

    def _masks(self, rows: tuple[Sequence, ...]) -> dict[int, bytes]:
        """Return what the constrained rows allow; a constraint that fails ends its row."""
        masks: dict[int, bytes] = {}
        for sequence in rows:
            match contained(sequence.mask):
                case bytes(mask):
                    masks[sequence.key] = mask
                case MlxpError() as fault:
                    self._out.fail((sequence,), fault)
        return masks

    # ── Results ─────────────────────────────────────────────────────────────────────────────────────────────────

    def settle(self, step: Step, outcome: Outcome | MlxpError) -> Deliveries:
        """Take in what came of a step, and return all there is to say since the last one.

        Raises:
            MlxpError: a model, or an adapter that belongs to the start, could not be loaded; the engine cannot go on.
        """
        self._errands.settle(step, outcome)
        self._room.note(*self._errands.present)
        self._totals.steps += 1
        self._out.ended = False
        match outcome:
            case Outcome():
                self._totals.take(step, outcome)
                self._feed(outcome.draws)
                for sequence, fault in outcome.failures:
                    self._out.fail((sequence,), fault)
                self._move_on(step, outcome)
            case MlxpError():
                self._fail_step(step, outcome)
        self._forget_ended()
        return self._out.hand_over(self._errands.replies())

    def _move_on(self, step: Step, outcome: Outcome) -> None:
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
            self._prefilling.remove(sequence)
            self._running.append(sequence)

    def _feed(self, draws: Iterable[Draw]) -> None:
        now_s = self._clock()
        for draw in draws:
            if not draw.sequence.ended:
                self._out.say(draw.sequence, contained(draw.sequence.feed, draw.tokens, draw.scores, now_s))

    def _fail_step(self, step: Step, fault: MlxpError) -> None:
        """Fail those the step was about; in a decode step or a reading that is the whole batch."""
        match step:
            case Load(model):  # one of the start has raised by now
                told = EngineFault(f"{model} could not be loaded: {fault.message}")
                self._out.fail([sequence for sequence in self._line if sequence.order.model == model], told)
            case Recall(sequence):
                sequence.recall(Recalled())
            case Prefill(sequence):
                self._out.fail((sequence,), fault, spoilt=True)
            case Fork(rows):
                self._out.fail(rows, fault, spoilt=True)
            case Decode() | Read() | Rest():
                self._out.fail(self._running, fault, spoilt=True)

    def _ended(self, record: RequestRecord) -> None:
        self._totals.add(record)
        self._counts.add(record)
        self._errands.use(record.model)

    def _forget_ended(self) -> None:
        if not self._out.ended:
            return
        self._running = [sequence for sequence in self._running if not sequence.ended]
        self._prefilling = deque(sequence for sequence in self._prefilling if not sequence.ended)
        for sequence in [sequence for sequence in self._line if sequence.ended]:
            self._line.leave(sequence)
        alive = {sequence.key for sequence in (*self._prefilling, *self._line)}
        left = {request_id: keys & alive for request_id, keys in self._prefixes.items()}
        self._prefixes = {request_id: keys for request_id, keys in left.items() if keys}

    # ── The end, and how things are ─────────────────────────────────────────────────────────────────────────────

    def abandon(self, fault: MlxpError, unread: Iterable[Message]) -> Deliveries:
        """Fail everybody, those in unread mail included: the thread is about to end."""
        self.apply(message for message in unread if isinstance(message, Submit | Mount | Shelve))
        self._errands.abandon(fault)
        self._out.fail([sequence for sequence in self._everybody() if not sequence.ended], fault)
        self._forget_ended()
        return self._out.hand_over(self._errands.replies())

    def snapshot(self, state: str | None = None, fault: str | None = None) -> EngineStats:
        """Return the numbers of this moment."""
        return EngineStats(
            state=state or self._state(),
            fault=fault,
            waiting=len(self._line),
            prefilling=len(self._prefilling),
            running=len(self._running),
            budget_bytes=self._room.total,
            reserved_bytes=self._room.reserved(self._holders),
            models=self._errands.states(self._house, self._counts),
            **self._totals.told(),
        )

    def _state(self) -> str:
        if self._deadline_s is not None:
            return "stopping"
        return "loading" if self._errands.starting else "ready"
