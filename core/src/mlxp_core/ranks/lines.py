"""Connections between the first rank and the others: messages in order, and the news that somebody has gone.

Only the first rank listens, at the address at which the others reach it for MLX's sake anyhow. Whoever connects must
say a secret that came over the group.
"""

from __future__ import annotations

import hmac
import socket
import time
from collections.abc import Sequence
from typing import Generic, TypeVar

import msgspec

from mlxp_core.errors import SetupError
from mlxp_core.ranks.messages import Answer, Message

PATIENCE_S = 60.0
"""How long ranks wait for each other at the start."""

SECRET_BYTES = 32
_LENGTH_BYTES = 4
_RANK_BYTES = 4
_HELLO_S = 5.0
"""How long whoever connects may take to say who it is."""

SILENCE_S = 30
"""About how long a computer may be out of reach until it counts as gone: it may have gone without a word."""

_PROBES = 5
_WATCH = {
    "TCP_KEEPIDLE": SILENCE_S // 2,  # Linux
    "TCP_KEEPALIVE": SILENCE_S // 2,  # macOS's word for it
    "TCP_KEEPINTVL": SILENCE_S // 2 // _PROBES,
    "TCP_KEEPCNT": _PROBES,
    "TCP_USER_TIMEOUT": SILENCE_S * 1000,  # of what was sent and never acknowledged; Linux alone
}
"""Options of TCP, where the system has them."""

S = TypeVar("S")
R = TypeVar("R")


class Line(Generic[S, R]):
    """One end of a connection: what is sent and what is received are lists of messages."""

    def __init__(self, sock: socket.socket, received: object) -> None:
        """Talk over a connected socket; ``received`` is the type of what comes."""
        sock.settimeout(None)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        _watch(sock)
        self._socket = sock
        self._encoder = msgspec.msgpack.Encoder()
        self._decoder: msgspec.msgpack.Decoder[list[R]] = msgspec.msgpack.Decoder(list[received])  # type: ignore[valid-type]

    def send(self, messages: Sequence[S]) -> None:
        """Send messages.

        Raises:
            OSError: the other end has gone.
        """
        data = self._encoder.encode(messages)
        self._socket.sendall(len(data).to_bytes(_LENGTH_BYTES, "big") + data)

    def receive(self) -> list[R] | None:
        """Wait for messages; ``None`` = the other end has gone."""
        try:
            length = read_exactly(self._socket, _LENGTH_BYTES)
            data = None if length is None else read_exactly(self._socket, int.from_bytes(length, "big"))
        except OSError:
            return None
        return None if data is None else self._decoder.decode(data)

    def close(self) -> None:
        """Go. Whoever waits at either end is told."""
        try:
            self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:  # the other end was faster
            self._socket.close()
        self._socket.close()


LeadersLine = Line[Message, Answer]
FollowersLine = Line[Answer, Message]


def listen(address: str) -> socket.socket:
    """Return a listening socket on a free port.

    Raises:
        SetupError: the address is none of this machine's.
    """
    try:
        return socket.create_server((address, 0), family=_family(address))
    except OSError as error:
        raise SetupError(f"ranks cannot be listened for at {address}: {error}") from error


def accept(listener: socket.socket, secret: bytes, ranks: int) -> dict[int, LeadersLine]:
    """Return the lines of all other ranks.

    Raises:
        SetupError: they did not come.
    """
    lines: dict[int, LeadersLine] = {}
    deadline = time.monotonic() + PATIENCE_S
    while len(lines) < ranks - 1:
        listener.settimeout(max(0.001, deadline - time.monotonic()))
        try:
            sock, _ = listener.accept()
        except OSError as error:
            missing = sorted({*range(1, ranks)} - lines.keys())
            raise SetupError(f"ranks {missing} did not come within {PATIENCE_S:.0f} s: {error}") from error
        rank = _introduced(sock, secret)
        if rank is None or rank in lines or not 0 < rank < ranks:
            sock.close()
        else:
            lines[rank] = Line(sock, Answer)
    return lines


def connect(address: str, port: int, secret: bytes, rank: int) -> FollowersLine:
    """Return the line to the first rank.

    Raises:
        SetupError: it is not there.
    """
    try:
        sock = socket.create_connection((address, port), timeout=PATIENCE_S)
        sock.sendall(secret + rank.to_bytes(_RANK_BYTES, "big"))
    except OSError as error:
        raise SetupError(f"rank 0 cannot be reached at {address}:{port}: {error}") from error
    return Line(sock, Message)


def read_exactly(sock: socket.socket, count: int) -> bytes | None:
    """Return so many bytes; ``None`` = the other end has gone before."""
    data = bytearray()
    while len(data) < count:
        more = sock.recv(count - len(data))
        if not more:
            return None
        data += more
    return bytes(data)


def _watch(sock: socket.socket) -> None:
    """Have the system see whether the other end is still there, though nobody says anything."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in _WATCH.items():
        if hasattr(socket, option):
            sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)


def _introduced(sock: socket.socket, secret: bytes) -> int | None:
    """Return the rank that says the secret; ``None`` = it does not."""
    sock.settimeout(_HELLO_S)
    try:
        said = read_exactly(sock, SECRET_BYTES + _RANK_BYTES)
    except OSError:
        return None
    if said is None or not hmac.compare_digest(said[:SECRET_BYTES], secret):
        return None
    return int.from_bytes(said[SECRET_BYTES:], "big")


def _family(address: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in address else socket.AF_INET
