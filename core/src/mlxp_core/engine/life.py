"""One life of the engine: a thread from its birth to its end, and what everybody is told then."""

import logging
from collections.abc import Callable
from contextlib import AbstractContextManager, closing
from threading import Lock, Thread

from mlxp_core.engine.fate import CALLS, Policy
from mlxp_core.engine.faults import bare, described, traced
from mlxp_core.engine.garbage import collect_everywhere
from mlxp_core.engine.loop import run
from mlxp_core.engine.mailbox import Mailbox
from mlxp_core.engine.scheduler import Scheduler
from mlxp_core.engine.stats import StatsBoard
from mlxp_core.engine.steps import Runner
from mlxp_core.errors import MlxpError, Unavailable

_log = logging.getLogger(__name__)

Halted = Callable[[], bool]
MakeRunner = Callable[[Halted], Runner]
"""Makes the runner, on the engine thread; what it is given says whether a long load should give up."""


class Life:
    """Serves from its own mailbox until it is closed, or until something ends the thread.

    Attributes:
        mail: what it is told, and what it answers.
        board: how it is.
        scheduler: decides; the engine thread's alone.
    """

    def __init__(
        self,
        mail: Mailbox,
        board: StatsBoard,
        scheduler: Scheduler,
        *,
        make_runner: MakeRunner,
        limits: Callable[[], AbstractContextManager[None]],
        decide: Callable[[bool], Policy],
        again: Callable[[], object],
        before: "Life | None" = None,
    ) -> None:
        """Make a life that has not begun.

        Args:
            mail: open.
            board: its own.
            scheduler: new.
            make_runner: makes what has the arrays.
            limits: keeps MLX within the budget for as long as the thread lives.
            decide: asked what is to become of the engine when it is lost; told whether it was ready before.
            again: called when another life is to follow, and everybody of this one has been told.
            before: the one that this one follows; begins when its thread has let go of everything.
        """
        self.mail = mail
        self.board = board
        self.scheduler = scheduler
        self._make_runner = make_runner
        self._limits = limits
        self._decide = decide
        self._again = again
        self._before = before
        self._thread = Thread(target=self._live, name="mlxp-engine", daemon=True)
        self._forsaken = False
        self._last_words = Lock()  # is taken by whoever says them, and kept

    def begin(self) -> None:
        """Start the thread; returns at once."""
        self._thread.start()

    def join(self, patience_s: float | None = None) -> bool:
        """Wait for the end of the thread, unless it was forsaken; false if it takes longer than ``patience_s``."""
        if not self._forsaken:
            self._thread.join(patience_s)
        return self._forsaken or not self._thread.is_alive()

    def forsake(self, why: Unavailable) -> None:
        """Answer everybody in place of a thread that is stuck in a step; should it go on, it finds nobody."""
        if not self.join(0):
            self._forsaken = True
            self._end(why)

    def _live(self) -> None:
        """Be the engine thread."""
        if self._before is not None:
            self._before.join()
            self._before = None
            collect_everywhere()  # what its frames held; there is no room for weights twice
        try:
            with self._limits(), closing(self._make_runner(lambda: self.mail.closed)) as runner:
                run(self.mail, self.scheduler, runner, self.board)
        except BaseException as error:  # noqa: BLE001  # the thread's last words: everybody gets an answer
            self._end(error)
        else:
            self._end(None)

    def _end(self, error: BaseException | None) -> None:
        """Answer everybody who is left, and say what happened; once."""
        if not self._last_words.acquire(blocking=False):
            return
        halted = self.mail.closed and (error is None or isinstance(error, Unavailable))  # as was wanted
        unread = self.mail.shut()
        fate: Policy = "stay"
        if halted:
            state, fault = "stopping", None
            why = Unavailable("the engine has stopped; send the request to another server, or again later")
        else:
            _log.critical("the engine is lost\n%s", "" if error is None else traced(error))
            fate = self._decide(self.board.stats.state == "ready")
            state, fault = "loading" if fate == "restart" else "lost", described(error) if error else None
            why = Unavailable(f"the engine is lost ({fault}); {CALLS[fate]}")
        deliveries = self.scheduler.abandon(why, unread)
        last_word = bare(error) if isinstance(error, MlxpError) else why
        self.board.finish(self.scheduler.snapshot(state, fault), last_word)
        self.mail.deliver(deliveries)
        if fate == "restart":
            self._again()
