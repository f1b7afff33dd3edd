"""What to do next: pure decisions about rows, without arrays, threads or clocks of its own.

A choice waits in line, gets a row, has its prompt read chunk by chunk, then steps with the batch until it ends. It
holds its row from the first chunk to its last event; there are never more rows than ``EngineSettings.batch``.

1. Models and adapters come and go between steps, before rows move (see ``errands``).
2. Rows are given in the order of the line (see ``line``), as far as there is memory for them (see ``room``); what can
   never fit is refused before it stands in line.
3. Of those that have a row, prompts and the batch take turns (see ``rows``).
4. Whatever ends is freed by the next step, whichever it is; if nothing else is to be done, that is a ``Rest``.
"""

from collections.abc import Callable, Iterable
from functools import partial
from itertools import count

from mlxp_core.engine.errands import Errands
from mlxp_core.engine.faults import DeviceFault, contained
from mlxp_core.engine.house import House
from mlxp_core.engine.line import WaitingLine
from mlxp_core.engine.mailbox import Deliveries
from mlxp_core.engine.orders import Cancel, CancelAll, Close, Lose, Message, Mount, Shelve, Submit, Unmount
from mlxp_core.engine.outbox import Outbox
from mlxp_core.engine.residents import Residents, ShelfRules
from mlxp_core.engine.room import Room
from mlxp_core.engine.rows import Rows
from mlxp_core.engine.sequence import Recalled, Sequence
from mlxp_core.engine.speculation.guesser import Guesser
from mlxp_core.engine.stats import Books
from mlxp_core.engine.steps import Decode, Draw, Fork, Load, Outcome, Prefill, Read, Recall, Rest, Step
from mlxp_core.errors import EngineFault, MlxpError, Unavailable
from mlxp_core.memory import Admission
from mlxp_core.types import EngineSettings, EngineStats, Event, RequestRecord


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
        books: Books | None = None,
    ) -> None:
        """Begin with nothing loaded.

        Args:
            models: all that are on offer, the default one first.
            settings: rows, chunk.
            clock: seconds that only grow.
            admission: counts the memory; ``None`` = nobody does.
            shelf: which models stay, and how long the others do.
            books: where it is counted what ends; ``None`` = in new ones.
        """
        self._settings = settings
        self._clock = clock
        self._line = WaitingLine(patience=settings.batch)
        self._room = Room(admission)
        residents = Residents(models, shelf, fits=self._room.together, clock=clock)
        self._errands = Errands(residents, self._room, loaded=shelf.loaded)
        self._room.note(self._errands.present)
        self._keys = count()
        self._deadline_s: float | None = None
        self._books = books or Books()
        self._out = Outbox(clock, record=self._ended)
        self._rows = Rows(settings, self._out, self._room, self._line, Guesser(settings, clock))

    @property
    def idle(self) -> bool:
        """Say whether there is nothing to do, nor to free, until a message comes."""
        return not (self._line or self._rows or self._out.ended) and self._errands.idle(self._house)

    @property
    def rest_s(self) -> float | None:
        """Return how long there is nothing to do when ``idle``, unless a message comes; ``None`` = for ever."""
        return self._errands.rest_s(self._house)

    # ── Messages ────────────────────────────────────────────────────────────────────────────────────────────────

    def apply(self, messages: Iterable[Message]) -> None:
        """Take in what came by mail.

        Raises:
            Unavailable: that what the engine computes with has gone; all other mail has been taken in.
        """
        losses = [self._take(message) for message in messages]
        if self._deadline_s is not None and self._clock() >= self._deadline_s:
            self._cancel(self._everybody())
        for lost in filter(None, losses):
            raise lost

    def _take(self, message: Message) -> Unavailable | None:
        """Take in one message; return what ends the engine, if it says so."""
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
            case Lose(why):
                return why
        return None

    def _queue(self, sequence: Sequence) -> None:
        fault = self._room.refusal(sequence)
        if fault is None:
            self._line.join(sequence)
        else:
            self._out.fail((sequence,), fault)

    def _everybody(self) -> list[Sequence]:
        return [*self._rows.holders, *self._line]

    @property
    def _house(self) -> House:
        return House(self._rows.holders, self._line)

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
        return self._rows.next()

    def _cramped(self, house: House) -> bool:
        return house.first is not None and self._room.cramped(house.first)

    def _admit(self) -> None:
        now_s = self._clock()
        while len(holders := self._rows.holders) < self._settings.batch:
            model = holders[0].order.model if holders else None
            sequence = self._line.call(model, partial(self._room.fits, holders))
            if sequence is None:
                return
            self._rows.prefilling.append(sequence)
            self._errands.use(sequence.order.model)
            self._out.say(sequence, sequence.begin(now_s))

    # ── Results ─────────────────────────────────────────────────────────────────────────────────────────────────

    def settle(self, step: Step, outcome: Outcome | MlxpError) -> Deliveries:
        """Take in what came of a step, and return all there is to say since the last one.

        Raises:
            MlxpError: a model, or an adapter that belongs to the start, could not be loaded; the engine cannot go on.
        """
        if not isinstance(outcome, DeviceFault):  # then models and adapters are as they were
            self._errands.settle(step, outcome)
        self._room.note(self._errands.present)
        self._books.totals.steps += 1
        self._out.ended = False
        match outcome:
            case Outcome():
                self._books.totals.take(step, outcome)
                self._feed(outcome.draws)
                for sequence, fault in outcome.failures:
                    self._out.fail((sequence,), fault)
                self._rows.move_on(step, outcome)
            case MlxpError():
                self._fail_step(step, outcome)
        self._forget_ended()
        return self._out.hand_over(self._errands.replies())

    def _feed(self, draws: Iterable[Draw]) -> None:
        now_s = self._clock()
        for draw in draws:
            if not draw.sequence.ended:
                self._out.say(draw.sequence, _fed(draw, now_s))

    def _fail_step(self, step: Step, fault: MlxpError) -> None:
        """Fail those the step was about; in a decode step or a reading that is the whole batch."""
        if isinstance(fault, DeviceFault):
            self._out.fail(self._rows.holders, fault, spoilt=True)
            return
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
                self._out.fail(self._rows.running, fault, spoilt=True)

    def _ended(self, record: RequestRecord) -> None:
        self._books.add(record)
        self._errands.use(record.model)

    def _forget_ended(self) -> None:
        if not self._out.ended:
            return
        for sequence in [sequence for sequence in self._line if sequence.ended]:
            self._line.leave(sequence)
        self._rows.forget_ended()

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
            prefilling=len(self._rows.prefilling),
            running=len(self._rows.running),
            budget_bytes=self._room.total,
            reserved_bytes=self._room.reserved(self._rows.holders),
            models=self._errands.states(self._house, self._books.counts),
            **self._books.totals.told(),
        )

    def _state(self) -> str:
        if self._deadline_s is not None:
            return "stopping"
        return "loading" if self._errands.starting else "ready"


def _fed(draw: Draw, now_s: float) -> list[Event] | MlxpError:
    return contained(draw.sequence.feed, draw.tokens, draw.scores, now_s, guessed=draw.guessed)
