"""Connections that are given up: the client takes nothing of its answer, or stops in the middle of its request.

Its own computer answers for it still, so the system never would. What is under way for it ends as if it had left.
"""

import asyncio
import logging
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

log = logging.getLogger("mlxp.server")


class Connection(H11Protocol):
    """An HTTP connection with limited patience.

    Attributes:
        patience_s: how long nothing may move while the client is awaited.
    """

    patience_s: float

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Begin as uvicorn does."""
        super().__init__(*args, **kwargs)
        self._sending: asyncio.TimerHandle | None = None  # the alarm while a request is incomplete
        self._taking: asyncio.TimerHandle | None = None  # the alarm while what is sent piles up

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's own
        """Await a request."""
        super().connection_made(transport)
        self._await_more()

    def data_received(self, data: bytes) -> None:
        """Go on with a request; await the rest of it, if there is one."""
        super().data_received(data)
        self._await_more()

    def on_response_complete(self) -> None:
        """Await the rest of the next request, if it has begun."""
        super().on_response_complete()
        self._await_more()

    def pause_writing(self) -> None:
        """Await that the client takes what was sent."""
        super().pause_writing()
        self._taking = self.loop.call_later(self.patience_s, self._give_up, "took nothing of its answer")

    def resume_writing(self) -> None:
        """Go on sending."""
        super().resume_writing()
        self._taking = _cancelled(self._taking)

    def connection_lost(self, exc: Exception | None) -> None:
        """Await nothing more."""
        self._sending, self._taking = _cancelled(self._sending), _cancelled(self._taking)
        super().connection_lost(exc)

    def _await_more(self) -> None:
        self._sending = _cancelled(self._sending)
        if not self.transport.is_closing() and self._incomplete:
            self._sending = self.loop.call_later(self.patience_s, self._miss_more)

    @property
    def _incomplete(self) -> bool:
        """Whether it is the client's turn to send: its first request, or the rest of one that has begun."""
        cycle: RequestResponseCycle | None = self.cycle
        if cycle is None:
            return True
        return bool(self.conn.trailing_data[0]) if cycle.response_complete else cycle.more_body

    def _miss_more(self) -> None:
        if self.flow.read_paused:  # it is the server that takes nothing more
            self._await_more()
        else:
            self._give_up("sent nothing more of its request")

    def _give_up(self, why: str) -> None:
        log.warning("a client %s for %g s; its connection is given up", why, self.patience_s)
        self.transport.abort()


def patient_for(patience_s: float) -> type[Connection]:
    """Return the class of connections with that much patience."""
    return type("PatientConnection", (Connection,), {"patience_s": patience_s})


def _cancelled(alarm: asyncio.TimerHandle | None) -> asyncio.TimerHandle | None:
    """Cancel an alarm, and return what there is in its place: none."""
    if alarm is not None:
        alarm.cancel()
    return None
