"""A ticket and an encoder, made into bytes; gives up as soon as the client leaves."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any, TypeVar

from litestar.response.streaming import ASGIStreamingResponse
from litestar.types import Receive, Scope, Send

from mlxp_core.contracts import Encoder
from mlxp_core.desk import Listener
from mlxp_core.server.errors import ClientLeft, last_words

T = TypeVar("T")


class Chunks:
    """What to send, chunk by chunk: all events of one engine step make one chunk."""

    def __init__(
        self,
        listener: Listener,
        encoder: Encoder,
        keep_alive_s: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Encode what the listener hears.

        Args:
            listener: where events come from.
            encoder: turns them into bytes.
            keep_alive_s: longest silence on a stream, in seconds.
            clock: monotonic seconds.
        """
        self._listener = listener
        self._encoder = encoder
        self._keep_alive_s = keep_alive_s
        self._clock = clock
        self._due = clock() + keep_alive_s

    async def next(self) -> bytes:
        """Return the next bytes to send, a keep-alive when it is time for one; ``b""`` at the end.

        An encoder that does not stream is silent to the end, and is not asked for keep-alives.
        """
        listener, encoder = self._listener, self._encoder
        while not listener.done:
            patience = max(0.0, self._due - self._clock()) if encoder.streaming else None
            said = b"".join([encoder.feed(event) for event in await listener.more(patience)])
            if not said and encoder.streaming and self._clock() >= self._due:
                said = encoder.keep_alive()
                self._due = self._clock() + self._keep_alive_s
            if said:
                self._due = self._clock() + self._keep_alive_s
                return said
        return b""


class EventStream(ASGIStreamingResponse):
    """A response that is sent while it is made.

    However it ends, the listener is closed, and with it an answer that nobody hears any more.
    """

    def __init__(
        self,
        first: bytes,
        chunks: Chunks,
        listener: Listener,
        encoder: Encoder,
        identity: str,
        headers: dict[str, str],
    ) -> None:
        """Prepare to send.

        Args:
            first: the bytes already taken from ``chunks``.
            chunks: where the rest comes from.
            listener: to close at the end.
            encoder: asked for last words if it fails underway.
            identity: the request's id, for the log.
            headers: of the response.
        """
        super().__init__(
            iterator=self._bytes(first, chunks, encoder, identity),
            headers={"cache-control": "no-cache", "x-accel-buffering": "no", **headers},
            media_type=encoder.media_type,
            status_code=200,
        )
        self._listener = listener

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it all, or as much as the client waits for."""
        with self._listener:
            await super().__call__(scope, receive, send)

    async def _bytes(
        self, first: bytes, chunks: Chunks, encoder: Encoder, identity: str
    ) -> AsyncIterator[bytes]:
        said = first
        while said:
            yield said
            try:
                said = await chunks.next()
            except Exception as error:  # noqa: BLE001  # the server's last handler, once a response has begun
                yield last_words(encoder, error, identity)
                return


async def unless_left(receive: Receive, work: Coroutine[Any, Any, T]) -> T:
    """Return what ``work`` returns; cancel it if the client closes the connection first.

    Raises:
        ClientLeft: it did.
    """
    task = asyncio.create_task(work)
    departure = asyncio.create_task(_departure(receive))
    try:
        await asyncio.wait((task, departure), return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise ClientLeft
        return task.result()
    finally:
        task.cancel()
        departure.cancel()
        await asyncio.gather(task, departure, return_exceptions=True)


async def _departure(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
