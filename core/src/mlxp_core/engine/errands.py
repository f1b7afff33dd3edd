"""What is done between two steps of rows: models and adapters that come and go."""

from collections.abc import Callable, Mapping

from mlxp_core.engine.house import House
from mlxp_core.engine.mounting import Mounting
from mlxp_core.engine.orders import Mount, Shelve, Unmount
from mlxp_core.engine.residents import Residents
from mlxp_core.engine.room import Present, Room
from mlxp_core.engine.stats import Counts
from mlxp_core.engine.steps import Adapt, Load, Outcome, Step, Unload
from mlxp_core.errors import MlxpError
from mlxp_core.types import ModelState

Errand = Load | Unload | Adapt
Told = Callable[[str], object]
"""Told of a model."""


class Errands:
    """Models first, then adapters: one is mounted on a model that is there."""

    def __init__(self, residents: Residents, room: Room, *, loaded: Told = lambda _: None) -> None:
        """Begin.

        Args:
            residents: the models.
            room: says whether there is memory for adapters.
            loaded: told of each model that was loaded after the start, on the event-loop thread.
        """
        self._residents = residents
        self._room = room
        self._mounting = Mounting()
        self._loaded = loaded
        self._news: list[str] = []
        self._as_of: object = None
        self._states: Mapping[str, ModelState] = {}

    @property
    def starting(self) -> bool:
        """Say whether something is still to come without which the server does not begin."""
        return self._residents.starting or self._mounting.vital

    def idle(self, house: House) -> bool:
        """Say whether there is nothing to do, nor to tell, until a message comes."""
        nothing = self.next(house) is None  # first, as deciding may answer somebody
        return nothing and not (self._residents.telling or self._mounting.telling)

    @property
    def present(self) -> Present:
        """Return what is in the memory beside rows."""
        adapters: dict[str, tuple[int, ...]] = {}
        for model, numbers in self._mounting.numbers.values():
            adapters[model] = (*adapters.get(model, ()), numbers)
        return Present(frozenset(self._residents.loaded), frozenset(self._residents.pinned), adapters)

    def take(self, message: Mount | Unmount | Shelve) -> None:
        """Note what came by mail."""
        match message:
            case Shelve():
                self._residents.take(message)
            case Mount() | Unmount():
                self._mounting.take(message)

    def use(self, model: str) -> None:
        """Note that a model is used."""
        self._residents.use(model)

    def next(self, house: House, *, cramped: Callable[[], bool] = lambda: False) -> Errand | None:
        """Return what to do now, if anything; see ``Residents.next``."""
        return self._residents.next(house, cramped=cramped) or self._next_adapter(house)

    def _next_adapter(self, house: House) -> Errand | None:
        errand = self._mounting.next(lambda: set(house.adapters))
        match errand:
            case Adapt(Mount() as mount):
                fault = self._room.refuses(mount)
                if fault is not None:
                    self._mounting.turn_away(mount, fault)
                    return self._next_adapter(house)
                if mount.model not in self._residents.loaded:
                    return self._residents.make_way(mount.model, house)
                left = self._room.left_with(mount, house.holders)
                if left is not None and left < 0 and house.holders:
                    return None  # rows drain
                return Adapt(mount, None if left is None else max(0, left))
            case _:
                return errand

    def holding(self, house: House) -> bool:
        """Say whether nobody new may have a row now, so that rows drain."""
        match self._mounting.next(lambda: set(house.adapters)):
            case Adapt(Mount()):
                return True  # where it could be mounted at once, it has been
            case _:
                return self._residents.holding

    def rest_s(self, house: House) -> float | None:
        """Return how long nothing has to be done unless a message comes; ``None`` = for ever."""
        return self._residents.rest_s(house)

    def settle(self, step: Step, outcome: Outcome | MlxpError) -> None:
        """Take in what came of a step.

        Raises:
            MlxpError: what belongs to the start could not be loaded or mounted, or something cannot be let go of.
        """
        started = self.starting
        self._residents.settle(step, outcome)
        self._mounting.settle(step, outcome)
        match step, outcome:
            case Load(model), Outcome() if not started:
                self._news.append(model)
            case Load(model), MlxpError() as fault:
                self._mounting.refuse(model, fault)

    def replies(self) -> tuple[Callable[[], object], ...]:
        """Return whom to tell what since the last call."""
        news, self._news = self._news, []
        told = tuple(_telling(self._loaded, model) for model in news)
        return (*told, *self._residents.replies(), *self._mounting.replies())

    def abandon(self, fault: MlxpError) -> None:
        """Do nothing more but let go, and tell those who wait."""
        self._residents.abandon(fault)
        self._mounting.abandon(fault)

    def states(self, house: House, counts: Counts) -> Mapping[str, ModelState]:
        """Return how each model is; the same object as before, where nothing has changed.

        Args:
            house: who is there.
            counts: of the choices that ended.
        """
        residents = self._residents
        waiting = frozenset() if len(residents.loaded) == len(residents.loads) else house.waiting
        as_of = (residents.version, counts.version, waiting)
        if as_of != self._as_of:
            self._as_of, self._states = as_of, self._states_now(residents.wanted | waiting, counts)
        return self._states

    def _states_now(self, wanted: frozenset[str], counts: Counts) -> dict[str, ModelState]:
        residents = self._residents
        return {
            model: ModelState(
                state="loaded" if model in residents.loaded else "loading" if model in wanted else "on disk",
                pinned=model in residents.pinned,
                loads=loads,
                **counts.of(model),
            )
            for model, loads in residents.loads.items()
        }


def _telling(told: Told, model: str) -> Callable[[], object]:
    return lambda: told(model)
