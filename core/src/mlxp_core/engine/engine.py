"""The engine as others see it: start, submit, cancel, stop, and a snapshot of how it is."""

import logging
import math
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from threading import Thread

from mlxp_core.contracts import SamplerStage
from mlxp_core.engine.faults import bare, described
from mlxp_core.engine.loop import run
from mlxp_core.engine.mailbox import Mailbox, Post
from mlxp_core.engine.orders import Cancel, Close, LoadPlan, Mount, Order, Shelve, Submit, Unmount
from mlxp_core.engine.residents import ShelfRules
from mlxp_core.engine.scheduler import Scheduler
from mlxp_core.engine.stats import StatsBoard
from mlxp_core.engine.steps import Runner
from mlxp_core.errors import MlxpError, SetupError, Unavailable, UnknownModel
from mlxp_core.memory import Admission
from mlxp_core.types import EngineSettings, EngineStats, RequestRecord

_log = logging.getLogger(__name__)

_STUCK_S = 30.0  # how long beyond its grace a stopping thread may take before we leave it behind
_LONGEST_RETRY_S = 60

Halted = Callable[[], bool]
MakeRunner = Callable[[Halted], Runner]
"""Makes the runner, on the engine thread; what it is given says whether a long load should give up."""


class Engine:
    """Runs all orders on one daemon thread of its own. Its methods may be called from any thread."""

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
        """
        self._models = tuple(plans)
        self._settings = settings
        self._admission = admission
        self._shelf = shelf
        self._on_record = on_record
        self._clock = clock
        self._make_runner = make_runner or (lambda halted: _device_runner(plans, settings, stages, halted))
        self._board = StatsBoard()
        self._mail: Mailbox | None = None
        self._thread: Thread | None = None

    def start(self, post: Post, mounts: Sequence[Mount] = ()) -> None:
        """Start the thread and begin to load; returns at once.

        Args:
            post: runs a call on the event-loop thread: ``loop.call_soon_threadsafe``.
            mounts: adapters to mount before anything is answered.

        Raises:
            SetupError: it was started before.
        """
        if self._thread is not None:
            raise SetupError("an engine can be started only once; make a new one")
        places = self._settings.batch + self._settings.queue
        mail = self._mail = Mailbox(post, places=places, on_record=self._on_record)
        for mount in mounts:
            mail.ask(mount)
        self._thread = Thread(target=self._live, args=(mail,), name="mlxp-engine", daemon=True)
        self._thread.start()

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
        self._mail.ask(message)

    def unmount(self, message: Unmount) -> None:
        """Let go of an adapter once no choice takes it; orders handed in from now on must not name it."""
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
        if self._mail is None or self._thread is None:
            return
        self._mail.close(Close(self._clock() + grace_s))
        self._thread.join(grace_s + _STUCK_S)
        if self._thread.is_alive():
            _log.error("the engine thread did not end within %.0f s after its grace; left behind", _STUCK_S)

    def stats(self) -> EngineStats:
        """Return the last snapshot."""
        return self._board.stats

    def _check_planned(self, model: str) -> None:
        if model not in self._models:
            raise UnknownModel(f"no model {model!r}; on offer: {', '.join(self._models)}", param="model")

    def _live(self, mail: Mailbox) -> None:
        """Be the engine thread."""
        scheduler = Scheduler(self._models, self._settings, self._clock, self._admission, shelf=self._shelf)
        try:
            with _limits(self._admission), closing(self._make_runner(lambda: mail.closed)) as runner:
                run(mail, scheduler, runner, self._board)
        except BaseException as error:  # noqa: BLE001  # the thread's last words: everybody gets an answer
            self._end(mail, scheduler, error)
        else:
            self._end(mail, scheduler, None)

    def _end(self, mail: Mailbox, scheduler: Scheduler, error: BaseException | None) -> None:
        """Answer everybody who is left, and say what happened."""
        halted = mail.closed and (error is None or isinstance(error, Unavailable))  # as ``stop`` wanted it
        unread = mail.shut()
        if halted:
            state, fault = "stopping", None
            why = Unavailable("the engine has stopped; send the request to another server, or again later")
        else:
            _log.critical("the engine is lost", exc_info=error)
            state, fault = "lost", described(error) if error else None
            why = Unavailable(f"the engine is lost ({fault}); the server must be restarted")
        deliveries = scheduler.abandon(why, unread)
        last_word = bare(error) if isinstance(error, MlxpError) else why
        self._board.finish(scheduler.snapshot(state, fault), last_word)
        mail.deliver(deliveries)

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
) -> Runner:
    # Imported by the thread that owns the arrays: whoever only talks to the engine needs no device.
    from mlxp_core.engine.past import open_past  # noqa: PLC0415
    from mlxp_core.engine.runner import BatchRunner  # noqa: PLC0415
    from mlxp_core.engine.shelf import Shelf  # noqa: PLC0415

    shelf = Shelf(plans, halted=halted)
    return BatchRunner(shelf, stages, past=open_past(shelf, plans, settings))
