"""The requests that the engine has: found, shown and cancelled by their ids."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

from msgspec import Struct

from mlxp_core.errors import BadRequest
from mlxp_core.types import ChoiceProgress, RunningRequest


class Guest(Protocol):
    """What runs under a request's id."""

    def cancel(self) -> None:
        """Stop as soon as possible."""
        ...

    def progress(self) -> tuple[ChoiceProgress, ...]:
        """Return how far each of its choices is."""
        ...


class _Entry(Struct, frozen=True):
    guest: Guest
    model: str
    protocol: str
    came_s: float


class House:
    """All requests in the engine. Belongs to the event-loop thread."""

    def __init__(self, clock: Callable[[], float]) -> None:
        """Begin empty; ``clock`` returns seconds that only grow."""
        self._clock = clock
        self._entries: dict[str, _Entry] = {}
        self._somebody_left = asyncio.Event()

    def check_new(self, request_id: str) -> None:
        """Refuse a request whose id is taken.

        Raises:
            BadRequest: a request with that id is here.
        """
        if request_id in self._entries:
            raise BadRequest(
                f"a request with the id {request_id!r} is running; ids must be unique", param="id"
            )

    def enter(self, request_id: str, guest: Guest, *, model: str, protocol: str) -> None:
        """Note a request that is about to be handed to the engine."""
        self._entries[request_id] = _Entry(guest, model, protocol, self._clock())

    @contextmanager
    def guest(self, request_id: str, guest: Guest, *, model: str, protocol: str) -> Iterator[None]:
        """Note a request for as long as this is open."""
        self.enter(request_id, guest, model=model, protocol=protocol)
        try:
            yield
        finally:
            self.leave(request_id)

    def leave(self, request_id: str) -> None:
        """Forget a request that has ended."""
        del self._entries[request_id]
        self._somebody_left.set()

    def show(self, request_id: str) -> RunningRequest | None:
        """Return how far a request is; ``None`` if it is not here."""
        entry = self._entries.get(request_id)
        if entry is None:
            return None
        return RunningRequest(
            id=request_id,
            protocol=entry.protocol,
            model=entry.model,
            age_s=self._clock() - entry.came_s,
            choices=entry.guest.progress(),
        )

    def show_all(self) -> tuple[RunningRequest, ...]:
        """Return how far every request is, in the order they came."""
        return tuple(shown for name in self._entries if (shown := self.show(name)) is not None)

    def cancel(self, request_id: str) -> bool:
        """Cancel a request; false if it is not here."""
        entry = self._entries.get(request_id)
        if entry is not None:
            entry.guest.cancel()
        return entry is not None

    def cancel_all(self) -> None:
        """Cancel everything."""
        for entry in list(self._entries.values()):
            entry.guest.cancel()

    async def empty(self) -> None:
        """Wait until nothing runs."""
        while self._entries:
            self._somebody_left.clear()
            await self._somebody_left.wait()
