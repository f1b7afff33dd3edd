"""What comes over a connection, and when: kept as it is while it comes, taken apart afterwards.

So the client hardly takes part in what it measures, also where both share two cores.
"""

import asyncio
import time
from collections.abc import Iterable, Sequence

from msgspec import Struct

Mark = tuple[float, bytes]
"""When bytes came, in seconds of ``clock``, and which."""

clock = time.perf_counter

_LAST = 24


class Wire(asyncio.Protocol):
    """One connection.

    Attributes:
        marks: what has come.
        ended: the time at which the answer was whole, or the connection over.
        transport: to send by, and to hang up.
    """

    def __init__(self) -> None:
        """Begin with nothing."""
        self.marks: list[Mark] = []
        self.ended: asyncio.Future[float] = asyncio.get_running_loop().create_future()
        self.transport: asyncio.Transport
        self._tail = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Remember what to send by."""
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        """Keep what comes."""
        self.marks.append((clock(), data))
        seen = self._tail + data
        self._tail = seen[-_LAST:]
        if b"data: [DONE]" in seen or seen.endswith(b"\r\n0\r\n\r\n"):
            self._end()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002  # the protocol's signature
        """Be over."""
        self._end()

    def _end(self) -> None:
        if not self.ended.done():
            self.ended.set_result(clock())


class Response(Struct, frozen=True):
    """An HTTP response.

    Attributes:
        status: 0 = none came.
        headers: by their names in lower case.
        body: its bytes as they came, without their framing.
    """

    status: int = 0
    headers: dict[str, str] = {}
    body: tuple[Mark, ...] = ()


def response(marks: Sequence[Mark]) -> Response:
    """Take apart what came over a connection."""
    head, rest = _head(marks)
    if head is None:
        return Response()
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = {
        name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)
    }
    chunked = "chunked" in headers.get("transfer-encoding", "").lower()
    return Response(int(first.split(" ")[1]), headers, tuple(_unchunked(rest) if chunked else rest))


def events(body: Iterable[Mark]) -> list[Mark]:
    """Return the data of server-sent events, each with the time at which it was complete."""
    found: list[Mark] = []
    buffer = b""
    for at, data in body:
        buffer += data
        *blocks, buffer = buffer.replace(b"\r\n", b"\n").split(b"\n\n")
        for block in blocks:
            lines = [line[5:].lstrip() for line in block.split(b"\n") if line.startswith(b"data:")]
            if lines:
                found.append((at, b"\n".join(lines)))
    return found


def _head(marks: Sequence[Mark]) -> tuple[bytes | None, list[Mark]]:
    """Return the head, and what comes behind it."""
    seen = b""
    for place, (at, data) in enumerate(marks):
        head, found, body = (seen + data).partition(b"\r\n\r\n")
        if found:
            return head, [*([(at, body)] if body else []), *marks[place + 1 :]]
        seen += data
    return None, []


def _unchunked(marks: Iterable[Mark]) -> list[Mark]:
    """Undo chunked transfer coding; each byte keeps the time at which it came."""
    found: list[Mark] = []
    buffer, wanted = b"", 0
    for at, data in marks:
        buffer += data
        while buffer:
            if wanted == 0:
                line, there, rest = buffer.lstrip(b"\r\n").partition(b"\r\n")
                if not there:
                    break
                wanted, buffer = int(line.split(b";")[0], 16), rest
                if wanted == 0:
                    return found
            taken = buffer[:wanted]
            if not taken:
                break
            found.append((at, taken))
            buffer, wanted = buffer[len(taken) :], wanted - len(taken)
    return found
