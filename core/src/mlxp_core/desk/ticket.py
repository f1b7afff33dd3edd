"""The caller's end of one request: its events as they come, and a way to leave.

A ticket keeps what was said, so that any number of listeners may read it, each at its own pace and from the first
event on. Nobody who reads slowly holds the engine: it only appends here, and an answer is bounded by its length.
When the last listener leaves before the end, the request is cancelled; nobody would hear it.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Self

from mlxp_core.desk.progress import progress
from mlxp_core.types import ChoiceProgress, Event, Failed, Finished, GenerateRequest


class Ticket:
    """One request in the engine. All methods belong to the event-loop thread.

    Attributes:
        id: the request's.
        request: as it was resolved: model, adapters and seed are set.
        said: all that was said so far.
        ended: whether every choice has had its last event.
    """

    def __init__(
        self,
        request: GenerateRequest,
        choices: int,
        *,
        leave: Callable[[], object],
        close: Callable[[], object],
    ) -> None:
        """Make a ticket that nobody has spoken into yet.

        Args:
            request: what is asked.
            choices: how many answers will come.
            leave: tells the engine that nobody waits any more.
            close: called once, when the last choice has ended.
        """
        self.id = request.id
        self.request = request
        self.said: list[Event] = []
        self.ended = False
        self._choices = choices
        self._open = choices
        self._leave = leave
        self._close = close
        self._endings: list[Callable[[], object]] = []
        self._listeners: set[Listener] = set()

    def take(self, events: list[Event]) -> None:
        """Add what the engine said in one step."""
        self.said.extend(events)
        self._open -= sum(1 for event in events if isinstance(event, Finished | Failed))
        if self._open <= 0 and not self.ended:
            self.ended = True
            self._close()
            for ending in self._endings:
                ending()
        for listener in self._listeners:
            listener.wake()

    def when_ended(self, call: Callable[[], object]) -> None:
        """Call once when every choice has had its last event; at once, if that is so already."""
        if self.ended:
            call()
        else:
            self._endings.append(call)

    def listen(self) -> "Listener":
        """Return a new listener, at the first event. Close it, best by ``with``."""
        listener = Listener(self, self.said)
        self._listeners.add(listener)
        return listener

    def dismiss(self, listener: "Listener") -> None:
        """Forget a listener; cancel if it was the last one and more was to come."""
        self._listeners.discard(listener)
        if not self._listeners and not self.ended:
            self.cancel()

    async def events(self) -> AsyncIterator[Event]:
        """Yield the events to the end; closing the iterator early cancels the request."""
        with self.listen() as listener:
            while not listener.done:
                for event in await listener.more():
                    yield event

    def progress(self) -> tuple[ChoiceProgress, ...]:
        """Return how far each choice is."""
        return progress(self.said, self._choices)

    def cancel(self) -> None:
        """Stop as soon as possible; the events still end with ``Finished("cancelled")``."""
        if not self.ended:
            self._leave()


class Listener:
    """One reader of a ticket."""

    def __init__(self, ticket: Ticket, said: list[Event]) -> None:
        """Start at the first event; ``said`` is the ticket's own list."""
        self._ticket = ticket
        self._said = said
        self._at = 0
        self._waiting: asyncio.Future[None] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def done(self) -> bool:
        """Whether everything was read and nothing more will come."""
        return self._ticket.ended and self._at == len(self._said)

    async def more(self, patience_s: float | None = None) -> list[Event]:
        """Return all that was said since the last call, waiting if there is nothing yet.

        Args:
            patience_s: longest wait in seconds; ``None`` waits to the end.

        Returns:
            Events in order; nothing when the answer is over (then ``done``) or patience is.
        """
        if self._at == len(self._said) and not self._ticket.ended:
            await self._wait(patience_s)
        batch = self._said[self._at :]
        self._at += len(batch)
        return batch

    async def _wait(self, patience_s: float | None) -> None:
        loop = asyncio.get_running_loop()
        self._waiting = loop.create_future()
        alarm = loop.call_later(patience_s, self.wake) if patience_s is not None else None
        try:
            await self._waiting
        finally:
            self._waiting = None
            if alarm is not None:
                alarm.cancel()

    def wake(self) -> None:
        """End the current wait, if there is one."""
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)

    def close(self) -> None:
        """Stop listening; the last one to leave an unfinished answer cancels it. May be called twice."""
        self._ticket.dismiss(self)
