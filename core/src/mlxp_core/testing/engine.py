"""An engine without a model: it has the engine's face and plays scripts through the real sinks.

It has no thread and no clock. Each turn plays one piece of every script that can go on and posts the next turn, so
that scripts advance with the event loop, one piece a turn, always in the same order.
"""

from collections.abc import Callable, Iterable, Sequence

from msgspec.structs import replace

from mlxp_core.adapters import Fitted
from mlxp_core.engine import Mount, Order, Shelve, Unmount
from mlxp_core.errors import Busy, Conflict, Unavailable
from mlxp_core.testing.play import HOLD, Pause, Piece, Play
from mlxp_core.types import (
    EngineStats,
    ModelState,
    RequestRecord,
)

__all__ = ["HOLD", "Pause", "Piece", "ScriptedEngine"]


class ScriptedEngine:
    """Plays ``script`` for every order.

    Events are said as they are, but for what belongs to the order: the choice, and in ``Started`` request, model and
    seed. Tokens go through the order's own reader; a script of tokens needs no ``Started`` and no end: when it runs
    out, or at ``max_tokens``, the answer ends with ``length``. With a pool, only ``HOLD`` and errors count.

    Attributes:
        orders: all that were ever submitted.
        cancelled: request ids that were cancelled while they ran.
        mounted: keys of the adapters that are mounted now.
    """

    def __init__(
        self,
        script: Iterable[Piece] | Callable[[Order], Iterable[Piece]],
        *,
        places: int | None = None,
        loading: bool = False,
        on_record: Callable[[RequestRecord], object] = lambda _: None,
    ) -> None:
        """Make an engine.

        Args:
            script: for all orders, or made for each.
            places: most choices in the house; beyond it ``Busy``.
            loading: begin in state ``loading``, where orders wait until ``load``.
            on_record: told of each choice that ended.
        """
        pieces = script if callable(script) else tuple(script)
        self._script = pieces if callable(pieces) else lambda _: pieces
        self._places = places
        self._on_record = on_record
        self._post: Callable[[Callable[[], None]], object] | None = None
        self._plays: list[Play] = []
        self._turn_posted = False
        self._stats = EngineStats(state="loading" if loading else "ready")
        self.orders: list[Order] = []
        self.cancelled: list[str] = []
        self.mounted: list[str] = []

    def start(self, post: Callable[[Callable[[], None]], object], mounts: Sequence[Mount] = ()) -> None:
        """Begin; ``post`` runs a call on the event-loop thread. All ``mounts`` succeed."""
        self._post = post
        for mount in mounts:
            self.mount(mount)

    def wait_ready(self, timeout_s: float | None = None) -> bool:
        """Say at once whether loading is over, however long one would wait; raises if the engine is lost."""
        if self._stats.state == "lost":
            raise Unavailable(f"the engine is lost ({self._stats.fault}) and not waited for, {timeout_s=}")
        return self._stats.state != "loading"

    def submit(self, orders: Sequence[Order]) -> None:
        """Take the choices of one request; raises ``Busy`` and ``Unavailable`` as the real one does."""
        if self._post is None or self._stats.state in {"stopping", "lost"}:
            raise Unavailable(f"the engine takes no requests; its state is {self._stats.state!r}")
        if self._places is not None and self._plays and len(self._plays) + len(orders) > self._places:
            raise Busy(
                f"all {self._places} places are taken; try again in 1 s", headers=(("Retry-After", "1"),)
            )
        self.orders += orders
        self._plays += [Play(order, self._script(order)) for order in orders]
        self._go_on()

    def cancel(self, request_id: str) -> bool:
        """End the choices of a request, at its turn; false if there are none."""
        plays = [play for play in self._plays if play.order.request.id == request_id]
        for play in plays:
            play.cut = play.cut or "cancelled"
        if plays:
            self.cancelled.append(request_id)
            self._go_on()
        return bool(plays)

    def mount(self, message: Mount) -> None:
        """Say that an adapter is mounted, in a turn of its own."""
        if self._post is None or self._stats.state in {"stopping", "lost"}:
            raise Unavailable(f"the engine mounts nothing; its state is {self._stats.state!r}")

        def reply() -> None:
            message.reply(fitted)

        fitted = Fitted(len(message.folder.terms), (), message.folder.file.stat().st_size)
        self.mounted.append(message.key)
        self._post(reply)

    def unmount(self, message: Unmount) -> None:
        """Forget an adapter."""
        self.mounted.remove(message.key)

    def shelve(self, message: Shelve) -> None:
        """Note that a model was loaded, unloaded, pinned or let loose, in its own turn; at first all are loaded."""
        if self._post is None or self._stats.state in {"stopping", "lost"}:
            raise Unavailable(f"the engine changes nothing; its state is {self._stats.state!r}")
        model, fault = message.model, None
        state = self._stats.models.get(model, ModelState(state="loaded", loads=1))
        match message.action:
            case "unload" if state.pinned:
                fault = Conflict(f"{model} is pinned; unpin it first", param="model")
            case "unload":
                state = replace(state, state="on disk")
            case "unpin":
                state = replace(state, pinned=False)
            case action:
                loads = state.loads + (state.state != "loaded")
                pinned = state.pinned or action == "pin"
                state = replace(state, state="loaded", loads=loads, pinned=pinned)
        self._stats = replace(self._stats, models={**self._stats.models, model: state})

        def reply() -> None:
            message.reply(fault)

        self._post(reply)

    def stop(self, grace_s: float) -> None:
        """Take nothing new; without grace, cancel what runs. Does not wait for the turns to come."""
        self._stats = replace(self._stats, state="stopping")
        if grace_s <= 0:
            for play in self._plays:
                play.cut = play.cut or "cancelled"
        self._go_on()

    def stats(self) -> EngineStats:
        """Return how it is now."""
        loading = self._stats.state == "loading"
        here = len(self._plays)
        return replace(self._stats, waiting=here if loading else 0, running=0 if loading else here)

    def load(self) -> None:
        """End the state ``loading``."""
        self._stats = replace(self._stats, state="ready")
        self._go_on()

    def lose(self, fault: str) -> None:
        """Die: every choice fails, and nothing new is taken."""
        self._stats = replace(self._stats, state="lost", fault=fault)
        for play in self._plays:
            play.cut = Unavailable(f"the engine is lost ({fault}); the server must be restarted")
        self._go_on()

    def release(self, request_id: str | None = None) -> None:
        """Let scripts go on that hold now: those of one request, or all."""
        for play in self._plays:
            if request_id in {None, play.order.request.id}:
                play.holding = False
        self._go_on()

    @property
    def holding(self) -> tuple[str, ...]:
        """Return the requests that hold now."""
        return tuple(play.order.request.id for play in self._plays if play.holding)

    def _go_on(self) -> None:
        """Post a turn, unless one is under way or nothing can move."""
        movable = any(self._can_move(play) for play in self._plays)
        if self._post is not None and movable and not self._turn_posted:
            self._turn_posted = True
            self._post(self._turn)

    def _can_move(self, play: "Play") -> bool:
        return play.cut is not None or not (play.holding or self._stats.state == "loading")

    def _turn(self) -> None:
        self._turn_posted = False
        self._stats = replace(self._stats, steps=self._stats.steps + 1)
        for play in [play for play in self._plays if self._can_move(play)]:
            events = play.next_events()
            if play.record is not None:
                self._plays.remove(play)
                self._count(play.record)
            if events:
                play.order.sink(events)
            if play.record is not None:
                self._on_record(play.record)
        self._go_on()

    def _count(self, record: RequestRecord) -> None:
        stats = self._stats
        failed = record.error is not None
        cancelled = record.reason == "cancelled"
        self._stats = replace(
            stats,
            prompt_tokens=stats.prompt_tokens + record.usage.prompt,
            completion_tokens=stats.completion_tokens + record.usage.completion,
            failed=stats.failed + failed,
            cancelled=stats.cancelled + cancelled,
            finished=stats.finished + (not failed and not cancelled),
        )
