"""The engine as others see it: start, submit, cancel, stop, and a snapshot of how it is."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import partial
from threading import Lock, Timer
from typing import TYPE_CHECKING

from msgspec.structs import replace

from mlxp_core.adapters import Fitted
from mlxp_core.contracts import SamplerStage
from mlxp_core.engine.fate import Fate
from mlxp_core.engine.life import Halted, Life, MakeRunner
from mlxp_core.engine.mailbox import Mailbox, Post
from mlxp_core.engine.orders import Cancel, Close, LoadPlan, Lose, Mount, Order, Shelve, Submit, Unmount
from mlxp_core.engine.residents import ShelfRules
from mlxp_core.engine.scheduler import Scheduler
from mlxp_core.engine.stats import Books, StatsBoard
from mlxp_core.engine.steps import Runner
from mlxp_core.errors import MlxpError, SetupError, Unavailable, UnknownModel
from mlxp_core.memory import Admission
from mlxp_core.types import EngineSettings, EngineStats, RequestRecord

if TYPE_CHECKING:
    from mlxp_core.ranks.leader import Leader

_log = logging.getLogger(__name__)

_STUCK_S = 30.0  # how long beyond its grace a stopping thread may take before we leave it behind
_LONGEST_RETRY_S = 60

LOST_S = 5.0
"""How long a thread may take to end that has lost what it computes with."""


class Engine:
    """Runs all orders on one daemon thread of its own.

    Whatever changes what is mounted belongs to the event-loop thread; other methods may be called from any.
    """

    def __init__(
        self,
        plans: Mapping[str, LoadPlan],
        settings: EngineSettings,
        stages: Mapping[str, SamplerStage],
        *,
        admission: Admission | None = None,
        shelf: ShelfRules = ShelfRules(),  # noqa: B008  # frozen
        on_record: Callable[[RequestRecord], object] = lambda _: None,
        clock: Callable[[], float] = time.monotonic,
        make_runner: MakeRunner | None = None,
        leader: Leader | None = None,
    ) -> None:
        """Make an engine that has not started.

        Args:
            plans: model id -> how to load it. As many as fit are loaded at start, in this order; others when they are
                wanted.
            settings: rows, queue, chunk.
            stages: sampler stages by name.
            admission: counts the memory of these models and of their rows; ``None`` = nobody does.
            shelf: which models stay, and how long the others do.
            on_record: told of each choice that ended, on the event-loop thread.
            clock: seconds that only grow.
            make_runner: another runner than the one for ``plans`` on this machine's device.
            leader: leads other processes that compute with this one; ``None`` = it is alone.
        """
        self._models = tuple(plans)
        self._settings = settings
        self._admission = admission
        self._shelf = shelf
        self._on_record = on_record
        self._clock = clock
        self._make_runner = make_runner or (
            lambda halted: _device_runner(plans, settings, stages, halted, leader)
        )
        self._leader = leader
        self._books = Books()
        self._fate = Fate(settings.on_death, clock)
        self._mounted: dict[str, Mount] = {}  # by key
        self._board = StatsBoard()
        self._life: Life | None = None
        self._stopped = False
        self._change = Lock()  # of lives

    def start(self, post: Post, mounts: Sequence[Mount] = ()) -> None:
        """Start the thread and begin to load; returns at once.

        Args:
            post: runs a call on the event-loop thread: ``loop.call_soon_threadsafe``.
            mounts: adapters to mount before anything is answered.

        Raises:
            SetupError: it was started before.
        """
        if self._life is not None:
            raise SetupError("an engine can be started only once; make a new one")
        self._begin(post, [self._noted(mount) for mount in mounts])
        if self._leader is not None:
            self._leader.watch(self.lose)

    def wait_ready(self, timeout_s: float | None = None) -> bool:
        """Block until every model is loaded; false if that takes longer than ``timeout_s``.

        Raises:
            MlxpError: why it will never be: the folder is damaged, the thread died, ``stop`` came first.
        """
        return self._board.wait_ready(timeout_s)

    def submit(self, orders: Sequence[Order]) -> None:
        """Hand in the choices of one request; they may wait for models that are still loading.

        Raises:
            Busy: every row and every place in the queue is taken.
            Unavailable: the engine has not started, is stopping or lost.
            UnknownModel: an order is for a model that is not planned.
        """
        for order in orders:
            self._check_planned(order.model)
        if self._mail is None:
            raise Unavailable("the engine has not been started")
        message = Submit(tuple(orders), self._clock())
        self._mail.submit(message, retry_after_s=self._retry_after_s(self._mail.load))

    def mount(self, message: Mount) -> None:
        """Mount an adapter between two steps; its ``reply`` is called when that is done, or why it is not.

        Raises:
            Unavailable: the engine has not started, is stopping or lost.
        """
        if self._mail is None:
            raise Unavailable("the engine has not been started")
        self._mail.ask(self._noted(message))

    def unmount(self, message: Unmount) -> None:
        """Let go of an adapter once no choice takes it; orders handed in from now on must not name it."""
        self._mounted.pop(message.key, None)
        if self._mail is not None:
            self._mail.tell(message)

    def shelve(self, message: Shelve) -> None:
        """Load, unload, pin or let loose a model between two steps; its ``reply`` is called when that is done.

        Raises:
            Unavailable: the engine has not started, is stopping or lost.
            UnknownModel: it is for a model that is not planned.
        """
        self._check_planned(message.model)
        if self._mail is None:
            raise Unavailable("the engine has not been started")
        self._mail.ask(message)

    def cancel(self, request_id: str) -> bool:
        """End all choices of a request, as soon as the step under way is done; false if there are none."""
        if self._mail is None or not self._mail.knows(request_id):
            return False
        self._mail.tell(Cancel(request_id))
        return True

    def stop(self, grace_s: float) -> None:
        """Take nothing new, let running rows go on for ``grace_s``, cancel the rest, and join the thread.

        Blocks; call it off the event loop, which the last events need. May be called again, with less patience.
        """
        with self._change:
            self._stopped = True
            life = self._life
        if life is None:
            return
        life.mail.close(Close(self._clock() + grace_s))
        if not life.join(grace_s + _STUCK_S):
            _log.error("the engine thread did not end within %.0f s after its grace; left behind", _STUCK_S)

    def lose(self, why: Unavailable) -> None:
        """End the thread: what it computes with has gone. Everybody is told why, and ``on_death`` says what then.

        The thread may be stuck in MLX, which waits for what has gone; then it is left behind.
        """
        if self._life is not None:
            self._life.mail.tell(Lose(why))
            late = Timer(LOST_S, self._life.forsake, (why,))
            late.daemon = True
            late.start()

    def stats(self) -> EngineStats:
        """Return the last snapshot."""
        return self._board.stats

    def _check_planned(self, model: str) -> None:
        if model not in self._models:
            raise UnknownModel(f"no model {model!r}; on offer: {', '.join(self._models)}", param="model")

    @property
    def _mail(self) -> Mailbox | None:
        return None if self._life is None else self._life.mail

    def _noted(self, mount: Mount) -> Mount:
        """Return the same message; what comes of it is remembered, as another life mounts it again."""

        def reply(outcome: Fitted | MlxpError) -> None:
            if isinstance(outcome, Fitted):
                self._mounted[mount.key] = mount
            mount.reply(outcome)

        return replace(mount, reply=reply)

    def _begin(self, post: Post, mounts: Sequence[Mount], shelf: ShelfRules | None = None) -> None:
        """Begin a life, after the one there was."""
        mail = Mailbox(post, places=self._settings.batch + self._settings.queue, on_record=self._on_record)
        for mount in mounts:
            mail.ask(mount)
        scheduler = Scheduler(
            self._models,
            self._settings,
            self._clock,
            self._admission,
            shelf=shelf or self._shelf,
            books=self._books,
        )
        self._board.publish(scheduler.snapshot())
        self._life = Life(
            mail,
            self._board,
            scheduler,
            make_runner=self._make_runner,
            limits=partial(_limits, self._admission),
            decide=lambda served: self._fate.decide(served=served),
            again=partial(self._follow, post),
            before=self._life,
        )
        self._life.begin()

    def _follow(self, post: Post) -> None:
        with suppress(RuntimeError):  # the event loop is gone, and with it everybody
            post(lambda: self._begin_again(post))

    def _begin_again(self, post: Post) -> None:
        """Begin another life with the adapters and pins that the last one had; on the event-loop thread."""
        with self._change:
            if self._stopped:
                return
            pinned = frozenset(model for model, state in self.stats().models.items() if state.pinned)
            self._books.go_on()
            self._board = StatsBoard()
            mounts = [replace(mount, reply=lambda _: None, vital=True) for mount in self._mounted.values()]
            _log.warning("the engine begins again; restarts so far: %d", self._books.totals.restarts)
            self._begin(post, mounts, replace(self._shelf, pinned=pinned))

    def _retry_after_s(self, load: int) -> int:
        """Estimate when a place is free: the rounds before a new choice's, at the pace of the last ones."""
        rounds = max(1, load // self._settings.batch)
        return min(_LONGEST_RETRY_S, max(1, math.ceil(rounds * self._board.stats.pace_s)))


def _limits(admission: Admission | None) -> AbstractContextManager[None]:
    if admission is None:
        return nullcontext()
    from mlxp_core.memory.device import kept_within  # noqa: PLC0415  # as below

    return kept_within(admission.total)


def _device_runner(
    plans: Mapping[str, LoadPlan],
    settings: EngineSettings,
    stages: Mapping[str, SamplerStage],
    halted: Halted,
    leader: Leader | None,
) -> Runner:
    # Imported by the thread that owns the arrays: whoever only talks to the engine needs no device.
    from mlxp_core.engine.guard import Guarded  # noqa: PLC0415
    from mlxp_core.engine.past import open_past  # noqa: PLC0415
    from mlxp_core.engine.ranked import load_parts  # noqa: PLC0415
    from mlxp_core.engine.runner import BatchRunner  # noqa: PLC0415
    from mlxp_core.engine.shelf import Shelf, load_plan  # noqa: PLC0415
    from mlxp_core.memory.device import synchronize  # noqa: PLC0415

    load = load_plan if leader is None else load_parts(plans, leader)
    shelf = Shelf(plans, halted=halted, load=load)
    runner = BatchRunner(shelf, stages, past=open_past(shelf, plans, settings))
    distrust = runner.distrust if leader is None else leader.give_up
    return Guarded(runner, synchronize=synchronize, distrust=distrust)
