"""Which models are loaded: pure decisions, between two steps, like those about rows.

1. The models of the start are loaded in their order, as many as fit beside each other; the first always.
2. Another one is loaded when its turn comes: when the first in line wants it and no row is taken. Where it does not fit
   beside the others, idle models go first: rather those that nobody in line wants, and of these the one used longest
   ago. They also go where the first in line needs their room for its row.
3. A model with rows never goes, and one that is pinned goes only when it has been let loose.
4. A model that was idle for ``unload_after_s`` goes.
5. What an operator asks for is done in order. While something is asked for, nobody new gets a row (``holding``), so
   that rows drain and it is done soon.
"""

import math
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable
from itertools import count

from msgspec import Struct

from mlxp_core.engine.house import House
from mlxp_core.engine.orders import Shelve
from mlxp_core.engine.steps import Load, Outcome, Step, Unload
from mlxp_core.errors import Conflict, MlxpError

Fits = Callable[[Collection[str]], bool]
"""Says whether models may be loaded at the same time, each with room for an answer of usual length."""

Reply = Callable[[], object]
"""Tells whoever asked; called on the event-loop thread."""


class ShelfRules(Struct, frozen=True, kw_only=True):
    """Which models stay, and how long the others do.

    Attributes:
        pinned: those that do not go by themselves.
        unload_after_s: how long another one may be idle; ``None`` = for ever.
        loaded: told of each model that was loaded after the start, on the event-loop thread.
    """

    pinned: frozenset[str] = frozenset()
    unload_after_s: float | None = None
    loaded: Callable[[str], object] = str


class Residents:
    """The models on offer: those that are loaded, and those that could be.

    Attributes:
        version: another number whenever something here has changed.
        loaded: model -> when it was used last, in the order of loading: in seconds, or, where those do not count, by
            a number that grows.
        pinned: those that do not go by themselves.
        loads: model -> how often it was loaded.
    """

    def __init__(
        self,
        models: Iterable[str],
        rules: ShelfRules = ShelfRules(),  # noqa: B008  # frozen
        *,
        fits: Fits = lambda _: True,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Begin with none loaded.

        Args:
            models: all that are on offer, the default one first.
            rules: which of them stay, and how long the others do.
            fits: says which go together.
            clock: seconds that only grow.
        """
        self.version = 0
        self.loaded: dict[str, float] = {}
        self.pinned = set(rules.pinned)
        self.loads = dict.fromkeys(models, 0)
        self._fits = fits
        self._unload_after_s = math.inf if rules.unload_after_s is None else rules.unload_after_s
        self._now = count().__next__ if rules.unload_after_s is None else clock
        self._starting = deque(self._first())
        self._asked: deque[Shelve] = deque()
        self._replies: list[Reply] = []

    def _first(self) -> list[str]:
        """Return the models to begin with: the default one, pinned ones, and then others, as long as they fit."""
        first, *others = self.loads or [""]
        chosen = [first] if first else []
        for model in sorted(others, key=lambda each: each not in self.pinned):
            if self._fits([*chosen, model]):
                chosen.append(model)
        return [model for model in self.loads if model in chosen]

    @property
    def starting(self) -> bool:
        """Say whether a model of the start is still to come."""
        return bool(self._starting)

    @property
    def telling(self) -> bool:
        """Say whether somebody waits for a reply that is known."""
        return bool(self._replies)

    @property
    def holding(self) -> bool:
        """Say whether nobody new may have a row, so that rows drain."""
        return bool(self._asked)

    @property
    def wanted(self) -> frozenset[str]:
        """Return the models that are about to be loaded, those in line aside."""
        asked = {each.model for each in self._asked if each.action in {"load", "pin"}}
        return frozenset({*self._starting, *asked}.difference(self.loaded))

    def use(self, model: str) -> None:
        """Note that a model is used."""
        if model in self.loaded:
            self.loaded[model] = self._now()

    def take(self, message: Shelve) -> None:
        """Note what an operator asks for."""
        self._asked.append(message)
        self.version += 1

    def abandon(self, fault: MlxpError) -> None:
        """Load nothing more, and tell those who wait."""
        self._starting.clear()
        self.version += 1
        while self._asked:
            self._answer(fault)

    def replies(self) -> tuple[Reply, ...]:
        """Return what there is to tell since the last call."""
        replies, self._replies = tuple(self._replies), []
        return replies

    # ── Decisions ───────────────────────────────────────────────────────────────────────────────────────────────

    def next(self, house: House, *, cramped: Callable[[], bool]) -> Load | Unload | None:
        """Return what to do now, if anything.

        Args:
            house: who is there.
            cramped: says whether the first in line lacks the room that idle models take.
        """
        if self._starting:
            return Load(self._starting[0])
        while self._asked:
            step, fault = self._towards(self._asked[0], house)
            if step is None and fault is None and not self._reached(self._asked[0]):
                return None  # rows drain
            if step is not None:
                return step
            self._answer(fault)
        if not house.holders and house.first is not None:
            step = self.make_way(house.first.order.model, house)
            if step is None and cramped():
                step = self._send_away(house, house.first.order.model)
            if step is not None:
                return step
        return self._overdue(house)

    def make_way(self, model: str, house: House) -> Load | Unload | None:
        """Return the next step towards having a model; ``None`` if it is there, or rows must drain first."""
        if model in self.loaded:
            return None
        if not self.loaded or self._fits([*self.loaded, model]):
            return Load(model)
        step = self._send_away(house, model)
        if step is None and not house.holders:
            return Load(model)  # what stays leaves it just the least
        return step

    def rest_s(self, house: House) -> float | None:
        """Return how long nothing has to be done about idle models; ``None`` = for ever."""
        if math.isinf(self._unload_after_s):
            return None
        ends = [self.loaded[model] + self._unload_after_s for model in self._idle(house)]
        return max(0.0, min(ends) - self._now()) if ends else None

    def _towards(self, asked: Shelve, house: House) -> tuple[Load | Unload | None, MlxpError | None]:
        """Return the next step towards what is asked for, or why it cannot be."""
        model = asked.model
        match asked.action:
            case "unload" if model in self.pinned:
                return None, Conflict(f"{model} is pinned; unpin it first", param="model")
            case "unload" if model in self.loaded and model not in house.running:
                return Unload(model), None
            case "pin" if not self._may_pin(model):
                pins = ", ".join(sorted(self.pinned))
                return None, Conflict(
                    f"with {model} pinned beside {pins}, another model would have no room; unpin one first",
                    param="model",
                )
            case "load" | "pin":
                return self.make_way(model, house), None
            case _:
                return None, None

    def _reached(self, asked: Shelve) -> bool:
        match asked.action:
            case "load" | "pin":
                return asked.model in self.loaded
            case "unload":
                return asked.model not in self.loaded
            case "unpin":
                return True

    def _may_pin(self, model: str) -> bool:
        """Say whether the first pin, or one more, leaves room for each of the others."""
        pins = {*self.pinned, model}
        return (
            pins <= self.pinned
            or len(self.loads) == 1
            or all(self._fits({*pins, each}) for each in self.loads)
        )

    def _send_away(self, house: House, model: str) -> Unload | None:
        free = [m for m in self.loaded if m != model and m not in self.pinned and m not in house.running]
        return Unload(min(free, key=lambda m: (m in house.waiting, self.loaded[m]))) if free else None

    def _idle(self, house: House) -> list[str]:
        busy = self.pinned | house.running | house.waiting
        return [model for model in self.loaded if model not in busy]

    def _overdue(self, house: House) -> Unload | None:
        if math.isinf(self._unload_after_s):
            return None
        now_s = self._now()
        late = [m for m in self._idle(house) if now_s - self.loaded[m] >= self._unload_after_s]
        return Unload(late[0]) if late else None

    # ── Results ─────────────────────────────────────────────────────────────────────────────────────────────────

    def settle(self, step: Step, outcome: Outcome | MlxpError) -> None:
        """Take in what came of a step.

        Raises:
            MlxpError: a model of the start could not be loaded, or one could not be let go of.
        """
        match step, outcome:
            case Load(model), Outcome():
                self._begun(model)
                self.loaded[model] = self._now()
                self.loads[model] += 1
                self.version += 1
            case Load(model), MlxpError() as fault:
                if self._begun(model):
                    raise fault
                if self._asked and self._asked[0].model == model:
                    self._answer(fault)
            case Unload(model), Outcome():
                del self.loaded[model]
                self.version += 1
            case Unload(), MlxpError() as fault:
                raise fault

    def _begun(self, model: str) -> bool:
        """Say whether the start wanted this model next; if so, it wants it no more."""
        if self._starting and self._starting[0] == model:
            self._starting.popleft()
            return True
        return False

    def _answer(self, fault: MlxpError | None) -> None:
        """Tell who asked first what came of it."""
        asked = self._asked.popleft()
        self.version += 1
        match asked.action, fault:
            case "pin", None:
                self.pinned.add(asked.model)
            case "unpin", None:
                self.pinned.discard(asked.model)
        self._replies.append(lambda: asked.reply(fault))
