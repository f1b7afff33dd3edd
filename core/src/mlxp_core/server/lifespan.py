"""The engine and the observers, up with the application and down with it."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Protocol

from litestar import Litestar

from mlxp_core.contracts import Services
from mlxp_core.desk import Desk, ObserversFace
from mlxp_core.server.records import Records
from mlxp_core.types import EngineStats, ModelInfo

LOOK_EVERY_S = 0.02


class LifeObservers(ObserversFace, Protocol):
    """Whom to tell how the server fares."""

    def started(self, services: Services) -> None:
        """The server accepts requests."""
        ...

    def model_loaded(self, model: ModelInfo) -> None:
        """A model is ready."""
        ...

    def stopping(self) -> None:
        """The server is about to stop."""
        ...


def living(
    desk: Desk, observers: LifeObservers, records: Records | None = None
) -> Callable[[Litestar], AbstractAsyncContextManager[None]]:
    """Return the lifespan of an application around ``desk``. Weights load while requests may queue already."""

    @asynccontextmanager
    async def life(_: Litestar) -> AsyncIterator[None]:
        desk.start(asyncio.get_running_loop().call_soon_threadsafe)
        observers.started(desk)
        announcement = asyncio.create_task(_announce(desk, observers))
        try:
            yield
        finally:
            observers.stopping()
            announcement.cancel()
            await asyncio.to_thread(desk.stop)
            if records is not None:
                await asyncio.to_thread(records.close)

    return life


async def settled(desk: Desk) -> EngineStats:
    """Wait until loading is over, one way or the other, and return the engine's state then."""
    while (stats := desk.stats()).state == "loading":  # noqa: ASYNC110  # the engine's face is a snapshot
        await asyncio.sleep(LOOK_EVERY_S)
    return stats


async def _announce(desk: Desk, observers: LifeObservers) -> None:
    if (await settled(desk)).state == "ready":
        states = desk.stats().models
        for model in desk.catalogue().models:
            if model.id not in states or states[model.id].state == "loaded":
                observers.model_loaded(model)
