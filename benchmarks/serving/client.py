"""Asks one server: a new connection for each request, temperature 0, nothing read before the answer is over."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from benchmarks.serving.reply import Reply, reply
from benchmarks.serving.wire import Wire, clock

Messages = Sequence[Mapping[str, str]]


class Counts(Struct):
    """What went wrong.

    Attributes:
        notes: the first few faults.
        short: answers of another length than was asked for.
        miscounted: answers whose usage says another length than they have.
    """

    requests: int = 0
    errors: int = 0
    short: int = 0
    miscounted: int = 0
    notes: list[str] = []


class Client:
    """Asks the server at a port of this machine."""

    def __init__(self, port: int, model: str, extra: Mapping[str, Any], patience_s: float) -> None:
        """Ask nobody yet.

        Args:
            port: the server's.
            model: what it calls the model.
            extra: put into every body.
            patience_s: for a whole answer.
        """
        self.counts = Counts()
        self._port, self._model, self._extra, self._patience_s = port, model, extra, patience_s

    async def open(self, messages: Messages, tokens: int, *, stream: bool = True) -> tuple[float, Wire]:
        """Send a request; return when that began, and the connection."""
        body = {
            "model": self._model,
            "messages": list(messages),
            "max_tokens": tokens,
            "temperature": 0,
            "stream": stream,
            **({"stream_options": {"include_usage": True}} if stream else {}),
            **self._extra,
        }
        data = json.dumps(body).encode()
        head = (
            f"POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1:{self._port}\r\n"
            f"content-type: application/json\r\ncontent-length: {len(data)}\r\nconnection: close\r\n\r\n"
        )
        begin = clock()
        _, wire = await asyncio.get_running_loop().create_connection(Wire, "127.0.0.1", self._port)
        wire.transport.write(head.encode() + data)
        return begin, wire

    async def ask(self, messages: Messages, tokens: int, *, stream: bool = True, count: bool = True) -> Reply:
        """Return the answer; one that failed, or has another length, is counted, unless nobody is to ``count``."""
        self.counts.requests += 1
        begin = clock()
        try:
            begin, wire = await self.open(messages, tokens, stream=stream)
            try:
                end = await asyncio.wait_for(wire.ended, self._patience_s)
            finally:
                wire.transport.abort()
        except TimeoutError:
            got = Reply(begin, clock(), fault=f"no end within {self._patience_s} s")
        except OSError as error:
            got = Reply(begin, clock(), fault=repr(error))
        else:
            got = reply(wire.marks, begin, end)
        self._note(got, tokens, count=count)
        return got

    def _note(self, got: Reply, tokens: int, *, count: bool) -> None:
        if got.fault is not None:
            self.counts.errors += 1
            self.counts.notes = [*self.counts.notes, got.fault][:8]
        elif count:
            self.counts.short += got.tokens != tokens
            self.counts.miscounted += got.usage is not None and got.usage.completion_tokens != got.tokens
