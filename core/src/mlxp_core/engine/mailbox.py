"""Orders in, deliveries out: the only place where the engine thread and others meet."""

from collections import Counter
from collections.abc import Callable, Sequence
from enum import Enum
from threading import Condition
from typing import Final

from msgspec import Struct

from mlxp_core.engine.faults import contained
from mlxp_core.engine.orders import CancelAll, Close, Message, Mount, Shelve, Submit
from mlxp_core.errors import Busy, Unavailable
from mlxp_core.types import Event, RequestRecord

Sink = Callable[[list[Event]], object]
Post = Callable[[Callable[[], None]], object]
"""Runs a call on the event-loop thread, from any thread: ``loop.call_soon_threadsafe``."""


class Signal(Enum):
    """What ``Mailbox.take`` may answer in place of messages."""

    STOP = "stop"


STOP: Final = Signal.STOP


class Deliveries(Struct, frozen=True):
    """What one step has to say.

    Attributes:
        events: for each sink.
        records: of the choices that ended with it.
        replies: to those who asked for something else than an answer.
    """

    events: tuple[tuple[Sink, list[Event]], ...] = ()
    records: tuple[RequestRecord, ...] = ()
    replies: tuple[Callable[[], object], ...] = ()


class Mailbox:
    """Messages for the engine thread, and its answers.

    It knows how many choices are in the house, so that ``submit`` can refuse on the caller's thread, exactly and at
    once, however far the engine has come: a choice counts from ``submit`` until its last event is handed over.
    """

    def __init__(self, post: Post, *, places: int, on_record: Callable[[RequestRecord], object]) -> None:
        """Open the mailbox.

        Args:
            post: runs a call on the event-loop thread.
            places: most choices in the house, waiting ones included.
            on_record: told of each choice that ended, on the event-loop thread.
        """
        self._post = post
        self._places = places
        self._on_record = on_record
        self._bell = Condition()
        self._inbox: list[Message] = []
        self._closed = False
        self._gone = False
        self._house: Counter[str] = Counter()  # request id -> choices in the house

    @property
    def closed(self) -> bool:
        """Say whether new requests are refused."""
        return self._closed

    @property
    def load(self) -> int:
        """Return the choices in the house."""
        return self._house.total()

    def submit(self, message: Submit, *, retry_after_s: int) -> None:
        """Hand in a request. A request with more choices than there are places still gets in when nobody else is.

        Args:
            message: the request.
            retry_after_s: when a place may be free again, for those that find none.

        Raises:
            Busy: the house is full.
            Unavailable: the engine takes nothing new.
        """
        with self._bell:
            if self._closed:
                raise Unavailable("the engine is stopping or lost and takes no new requests")
            load = self._house.total()
            if load and load + len(message.orders) > self._places:
                raise Busy(
                    f"all {self._places} places of the engine are taken; try again in {retry_after_s} s",
                    headers=(("Retry-After", str(retry_after_s)),),
                )
            self._house.update(order.request.id for order in message.orders)
            self._drop_in(message)

    def tell(self, message: Message) -> None:
        """Leave any other message; nobody reads it once the thread is gone."""
        with self._bell:
            self._drop_in(message)

    def ask(self, message: Mount | Shelve) -> None:
        """Leave a message that wants a reply.

        Raises:
            Unavailable: nobody would reply.
        """
        with self._bell:
            if self._closed:
                raise Unavailable("the engine is stopping or lost; nothing can be changed any more")
            self._drop_in(message)

    def knows(self, request_id: str) -> bool:
        """Say whether a request is in the house."""
        with self._bell:
            return request_id in self._house

    def close(self, message: Close) -> None:
        """Refuse new requests and pass the message on; the loop stops when it has nothing left to do."""
        with self._bell:
            self._closed = True
            self._drop_in(message)

    def take(self, *, wait: bool, timeout_s: float | None = None) -> Sequence[Message] | Signal:
        """Return the messages that came since the last call.

        Args:
            wait: there is nothing to do: block until a message comes, or return ``STOP`` if the mailbox is closed.
            timeout_s: how long to block at most; ``None`` = for ever.
        """
        with self._bell:
            while wait and not self._inbox:
                if self._closed:
                    return STOP
                if not self._bell.wait(timeout_s):
                    break
            messages, self._inbox = self._inbox, []
            return messages

    def shut(self) -> Sequence[Message]:
        """Close for good, and return what nobody read."""
        with self._bell:
            self._closed = self._gone = True
            messages, self._inbox = self._inbox, []
            return messages

    def deliver(self, deliveries: Deliveries) -> None:
        """Hand everything over in one call. If the event loop is gone, nobody listens: cancel what is left."""
        if not (deliveries.events or deliveries.replies):
            return
        with self._bell:
            for record in deliveries.records:
                self._leave(record.request_id)
        try:
            self._post(lambda: _hand_over(deliveries, self._on_record))
        except RuntimeError:  # a closed asyncio loop says it this way
            self.tell(CancelAll())

    def _drop_in(self, message: Message) -> None:
        if not self._gone:
            self._inbox.append(message)
            self._bell.notify()

    def _leave(self, request_id: str) -> None:
        self._house[request_id] -= 1
        if self._house[request_id] <= 0:
            del self._house[request_id]


def _hand_over(deliveries: Deliveries, on_record: Callable[[RequestRecord], object]) -> None:
    """Call sinks, tell of records, reply; runs on the event-loop thread. One that fails spoils no other."""
    for sink, events in deliveries.events:
        contained(sink, events)
    for record in deliveries.records:
        contained(on_record, record)
    for reply in deliveries.replies:
        contained(reply)
