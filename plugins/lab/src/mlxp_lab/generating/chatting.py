"""Asks a served model over its chat API, streaming, so that a job that is to stop is not kept waiting."""

from __future__ import annotations

import contextlib
import http.client
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from threading import Event, Lock
from typing import Any
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from mlxp_lab.generating.asking import Called, Dropped, Json, Messages, Reply
from mlxp_lab.jobs import BadParameters, JobFailed

PATIENCE_S = 600.0
"""How long a server may be busy, before a job gives up."""

SILENCE_S = 120.0
"""How long it may say nothing at all; servers of ours say something every few seconds."""

_BUSY = frozenset({429, 503})
_TOO_LONG = frozenset({"context_length_exceeded", "context_over_budget"})
_SEEDS_A_TASK = 1000


class Stopped(Exception):
    """The job is to stop."""


class Address(Struct, frozen=True, kw_only=True):
    """A server: ``https`` or not, host, port, and the path that its API is below."""

    secure: bool
    host: str
    port: int | None
    path: str

    def __str__(self) -> str:
        port = "" if self.port is None else f":{self.port}"
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.secure else 'http'}://{host}{port}{self.path}"


class Manner(Struct, frozen=True, kw_only=True):
    """How replies are drawn: the model's name, temperature, the job's seed, most tokens of a reply."""

    model: str
    temperature: float
    seed: int
    tokens: int


def address_of(url: str) -> Address:
    """Return the address that a URL is.

    Raises:
        BadParameters: it is none.
    """
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise BadParameters(f"{url!r} is no address of a server: {error}", param="server") from error
    if parts.scheme not in {"http", "https"} or not host or not url.isprintable() or " " in url:
        raise BadParameters(f"{url!r} is no address of a server, as http://127.0.0.1:8090", param="server")
    path = parts.path.rstrip("/").removesuffix("/v1")
    return Address(secure=parts.scheme == "https", host=host, port=port, path=path)


class Server:
    """A server, asked from several threads at once."""

    def __init__(self, address: Address, key: str | None) -> None:
        """Know where it is; nothing is asked yet.

        Args:
            address: of the server.
            key: for it, if it wants one.
        """
        self._address = address
        self._headers = {"content-type": "application/json"}
        if key is not None:
            self._headers["authorization"] = f"Bearer {key}"
        self._lock = Lock()
        self._live: set[http.client.HTTPConnection] = set()
        self._stopping = Event()
        self._shapes = True

    def stop(self) -> None:
        """Break off whatever is being asked; nothing can be asked any more."""
        self._stopping.set()
        with self._lock:
            for connection in self._live:
                if connection.sock is not None:
                    with contextlib.suppress(OSError):  # it has just ended by itself
                        connection.sock.shutdown(socket.SHUT_RDWR)

    def model(self, name: str) -> str:
        """Return the id of a model that is offered: the one that is named, or the default.

        Raises:
            JobFailed: nothing answers, it offers no models, or not this one.
        """
        with self._asked("GET", "/v1/models", None) as answer:
            told = answer.read()
            try:
                offered = [str(each["id"]) for each in msgspec.json.decode(told)["data"]]
            except (msgspec.MsgspecError, LookupError, TypeError) as error:
                raise JobFailed(f"what answers at {self._address} lists no models: {told[:200]!r}") from error
        if not offered:
            raise JobFailed(f"the server at {self._address} offers no model; start it with one")
        if name and name not in offered:
            raise JobFailed(
                f"the server at {self._address} offers no model {name!r}, but {', '.join(offered)}"
            )
        return name or offered[0]

    def asker(self, manner: Manner, task: int) -> Asker:
        """Return what asks for one task; replies depend on the task's number, not on when it is done."""
        return Asker(self._reply, manner, manner.seed * 1_000_003 + task * _SEEDS_A_TASK)

    def _reply(self, body: dict[str, Json], shape: type[Struct] | None) -> Reply:
        if shape is not None and self._shapes:
            schema = {"name": shape.__name__, "schema": inlined(msgspec.json.schema(shape))}
            held = {**body, "response_format": {"type": "json_schema", "json_schema": schema}}
            try:
                return self._told(held)
            except _Refused as error:
                if "response_format" not in (error.param or ""):
                    raise
                self._shapes = False  # no plugin for shapes: what comes is read with care
        return self._told(body)

    def _told(self, body: dict[str, Json]) -> Reply:
        with self._asked("POST", "/v1/chat/completions", msgspec.json.encode(body)) as answer:
            told = _Telling()
            for event in _events(answer):
                if self._stopping.is_set():
                    raise Stopped
                told.take(event)
        if self._stopping.is_set():
            raise Stopped
        return told.reply()

    @contextlib.contextmanager
    def _asked(self, method: str, path: str, body: bytes | None) -> Iterator[http.client.HTTPResponse]:
        """Send a request, again while the server is busy, and give its answer."""
        waited_s = 0.0
        while True:
            with self._connection() as connection:
                try:
                    connection.request(method, self._address.path + path, body, self._headers)
                    answer = connection.getresponse()
                    if answer.status not in _BUSY or waited_s >= PATIENCE_S:
                        _check(answer, str(self._address))
                        yield answer
                        return
                    pause_s = _pause_s(answer)
                except (OSError, http.client.HTTPException) as error:
                    if self._stopping.is_set():
                        raise Stopped from error
                    raise JobFailed(
                        f"the server at {self._address} does not answer ({error}); start one with mlxp serve, "
                        "or name another"
                    ) from error
            waited_s += pause_s
            if self._stopping.wait(pause_s):
                raise Stopped

    @contextlib.contextmanager
    def _connection(self) -> Iterator[http.client.HTTPConnection]:
        kind = http.client.HTTPSConnection if self._address.secure else http.client.HTTPConnection
        connection = kind(self._address.host, self._address.port, timeout=SILENCE_S)
        with self._lock:
            if self._stopping.is_set():
                raise Stopped
            self._live.add(connection)
        try:
            yield connection
        finally:
            with self._lock:
                self._live.discard(connection)
            connection.close()


class Asker:
    """An ``Ask``: its seeds follow each other."""

    def __init__(
        self, reply: Callable[[dict[str, Json], type[Struct] | None], Reply], manner: Manner, seed: int
    ) -> None:
        self._reply = reply
        self._manner = manner
        self._seed = seed

    def __call__(
        self,
        messages: Messages,
        *,
        tokens: int | None = None,
        shape: type[Struct] | None = None,
        tools: Sequence[Json] = (),
    ) -> Reply:
        """Return the model's reply; see ``Ask``."""
        body: dict[str, Json] = {
            "model": self._manner.model,
            "messages": list(messages),
            "stream": True,
            "temperature": self._manner.temperature,
            "seed": self._seed % 2**31,
            "max_tokens": tokens or self._manner.tokens,
            "chat_template_kwargs": {"enable_thinking": False},
        }
        self._seed += 1
        if tools:
            body["tools"] = list(tools)
        return self._reply(body, shape)


class _Refused(JobFailed):
    """The server refuses a request; ``param`` is the field."""


class _Telling:
    """A reply as it comes."""

    def __init__(self) -> None:
        self._text: list[str] = []
        self._calls: dict[int, dict[str, str]] = {}
        self._end: str | None = None

    def take(self, event: Mapping[str, Any]) -> None:
        """Take in an event of the stream."""
        if "error" in event:
            raise JobFailed(f"the server broke a reply off: {event['error'].get('message')}")
        for choice in event.get("choices", ()):
            delta = choice.get("delta") or {}
            self._text.append(delta.get("content") or "")
            for told in delta.get("tool_calls") or ():
                call = self._calls.setdefault(told["index"], {"id": "", "name": "", "arguments": ""})
                call["id"] += told.get("id") or ""
                for name in ("name", "arguments"):
                    call[name] += (told.get("function") or {}).get(name) or ""
            self._end = choice.get("finish_reason") or self._end

    def reply(self) -> Reply:
        """Return all of it.

        Raises:
            Dropped: it is empty, or was cut off.
            JobFailed: the stream ended before the reply did.
        """
        text = "".join(self._text)
        if self._end is None:
            raise JobFailed("the server ended a reply without an end")
        if self._end == "length":
            raise Dropped("the reply was cut off", text)
        if not text.strip() and not self._calls:
            raise Dropped("the reply is empty")
        return Reply(text, tuple(Called(**self._calls[index]) for index in sorted(self._calls)))


def _events(answer: http.client.HTTPResponse) -> Iterator[dict[str, Any]]:
    for line in answer:
        data = line.strip()
        if data.startswith(b"data:") and data[5:].strip() != b"[DONE]":
            yield msgspec.json.decode(data[5:], type=dict[str, Any])


def _check(answer: http.client.HTTPResponse, address: str) -> None:
    if answer.status == http.client.OK:
        return
    body = answer.read()
    try:
        error = msgspec.json.decode(body)["error"]
        message, param, code = str(error["message"]), error.get("param"), error.get("code")
    except (msgspec.MsgspecError, LookupError, TypeError, AttributeError):
        message, param, code = body[:300].decode("utf-8", "replace"), None, None
    if code in _TOO_LONG:
        raise Dropped("the request is too long for the model", message)
    hint = "; keys come from [server] api_keys" if answer.status in {401, 403} else ""
    raise _Refused(f"the server at {address} answers {answer.status}: {message}{hint}", param=param)


def _pause_s(answer: http.client.HTTPResponse) -> float:
    told = answer.getheader("retry-after", "")
    return min(30.0, float(told)) if told.isascii() and told.isdigit() and int(told) else 1.0


def inlined(schema: dict[str, Json]) -> dict[str, Json]:
    """Return a schema whose root is what it refers to."""
    name = schema.get("$ref", "").removeprefix("#/$defs/")
    return {**schema["$defs"][name], "$defs": schema["$defs"]} if name else schema
