"""A protocol of a few lines, and servers that speak it."""

import threading
from contextlib import contextmanager

import msgspec
import pytest
from msgspec import Struct

from mlxp_core import hookimpl
from mlxp_core.contracts import Decoded, Endpoint, Query, WireProtocol
from mlxp_core.errors import BadRequest
from mlxp_core.testing.client import PATIENCE_S, serve
from mlxp_core.types import (
    EngineStats,
    Failed,
    Finished,
    GenerateRequest,
    TextDelta,
    WireResponse,
)


class Ask(Struct):
    """What the tests send."""

    prompt: str
    id: str = "r"
    stream: bool = False
    choices: int = 1
    max_tokens: int | None = 8
    break_at: str | None = None
    extra: str | None = None


class Answer(Struct):
    """What they get."""

    text: str
    reason: str


class Encoder:
    """Writes the text as it comes, then the reason; whole answers the same at once."""

    media_type = "text/event-stream"

    def __init__(self, ask):
        self.streaming = ask.stream
        self._open = ask.choices
        self._break_at = ask.break_at
        self._held = b""
        self._sent = False
        self._failure = None

    def feed(self, event):
        if self._break_at == type(event).__name__:
            raise RuntimeError("the encoder was told to break")
        said = self._say(event)
        if self.streaming:
            self._sent = self._sent or bool(said)
            return said
        self._held += said
        return self._held if self._open == 0 else b""

    def _say(self, event):
        match event:
            case TextDelta(text=text, choice=choice):
                return f"{choice}:{text}\n".encode()
            case Finished(reason=reason):
                self._open -= 1
                return f"[{reason}]\n".encode()
            case Failed(code=code, message=message, status=status):
                self._open -= 1
                if not self._sent:
                    self._failure = WireResponse(status=status, body=f"failed: {message}".encode())
                    return b""
                return f"[failed {code}]\n".encode()
        return b""

    def keep_alive(self):
        self._sent = True
        return b"(still here)\n"

    def failure(self):
        return self._failure


def decode(wire):
    try:
        ask = msgspec.json.decode(wire.body, type=Ask)
    except msgspec.MsgspecError as error:
        raise BadRequest(str(error), param="body") from error
    if ask.break_at == "decode":
        raise RuntimeError("decoding was told to break")
    request = GenerateRequest(
        id=ask.id, model="any", prompt=ask.prompt, choices=ask.choices, max_tokens=ask.max_tokens
    )
    warnings = () if ask.extra is None else (f"extra: {ask.extra}",)
    return Decoded(request, Encoder(ask), warnings, {"max_tokens": "letters"})


def error_shape(name):
    def render(error):
        body = {"who": name, "code": error.code, "message": error.message, "param": error.param}
        return WireResponse(status=error.status, body=msgspec.json.encode(body))

    return render


def health(_, services):
    stats = services.stats()
    return WireResponse(status=200 if stats.state == "ready" else 503, body=msgspec.json.encode(stats))


def echo(wire, _):
    return WireResponse(body=msgspec.json.encode(wire))


LINES = WireProtocol(
    name="lines",
    endpoints=(
        Endpoint(path="/t/say", decode=decode, accepts=Ask, returns=Answer, summary="Say something"),
        Query(path="/t/echo/{word:str}", answer=echo, returns=Answer, summary="Repeat"),
    ),
    render_error=error_shape("lines"),
    prefixes=("/t",),
)
STATE = WireProtocol(
    name="state",
    endpoints=(
        Query(path="/health", answer=health, returns=EngineStats, summary="How it is", access="open"),
    ),
    render_error=error_shape("state"),
)


class Talk:
    """A served engine with what tests wait for: that it was asked, and that a choice has ended."""

    def __init__(self, script):
        self._script = list(script)
        self._asked = threading.Semaphore(0)
        self.records = []
        self._ended = threading.Semaphore(0)

    def script(self, _):
        self._asked.release()
        return self._script

    def mlxp_request_finished(self, record):
        self.records.append(record)
        self._ended.release()

    def wait_asked(self):
        assert self._asked.acquire(timeout=PATIENCE_S), "the engine was not asked"

    def wait_ended(self):
        assert self._ended.acquire(timeout=PATIENCE_S), "no choice ended"
        return self.records[-1]


@pytest.fixture
def talk():
    """Serve a script: yields the server and the talk."""

    @contextmanager
    def begin(script, *, more=(), **kept):
        told = Talk(script)

        class Watching:
            @hookimpl
            def mlxp_request_finished(self, record):
                told.mlxp_request_finished(record)

        with serve([LINES, STATE], told.script, plugins=[("watching", Watching()), *more], **kept) as served:
            yield served, told

    return begin


@pytest.fixture
def lines():
    """The protocol of the tests."""
    return LINES
