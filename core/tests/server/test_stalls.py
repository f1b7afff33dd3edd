"""Clients that stand still, on real sockets: they are given up after a while, and hold nobody meanwhile."""

import json
import socket
from contextlib import contextmanager
from types import SimpleNamespace
from urllib.parse import urlsplit

import pytest
import uvicorn
from uvicorn.server import ServerState

from mlxp_core.server.connection import patient_for
from mlxp_core.testing.client import PATIENCE_S
from mlxp_core.testing.engine import HOLD
from mlxp_core.types import Finished, Started, TextDelta, Timing, Usage

STALL_S = 0.4
FLAGS = {"server": {"port": 0, "stall_s": STALL_S}}
LAST = Finished("stop", Usage(), Timing())
SHORT = (Started("", ""), TextDelta("a"), LAST)
BIG = 100_000


@contextmanager
def connected(served, *, narrow=False):
    """A bare connection; a ``narrow`` one takes little before it is read."""
    with socket.socket() as sock:
        if narrow:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        sock.settimeout(PATIENCE_S)
        address = urlsplit(served.url)
        sock.connect((address.hostname, address.port))
        yield sock


def request(**fields):
    body = json.dumps({"prompt": "hello", "stream": True, **fields}).encode()
    head = f"POST /t/say HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


def rest_of(sock):
    """Return what comes until the server closes the connection, which it may do by a reset."""
    taken = b""
    try:
        while piece := sock.recv(2**16):
            taken += piece
    except ConnectionResetError:
        pass
    return taken


def test_who_takes_nothing_is_cancelled_after_a_while(talk, caplog):
    endless = [Started("", ""), *[TextDelta("x" * BIG)] * 100, HOLD]
    with talk(endless, flags=FLAGS) as (served, told), connected(served, narrow=True) as stalled:
        stalled.sendall(request(id="stalled"))
        assert told.wait_ended().reason == "cancelled"
        assert served.engine.cancelled == ["stalled"]
        assert served.client.get("/health").status_code == 200
        assert len(rest_of(stalled)) < 100 * BIG, "no more was encoded than the system took"
    assert "took nothing of its answer" in caplog.text


def test_others_are_answered_meanwhile(talk):
    endless = [Started("", ""), *[TextDelta("x" * BIG)] * 100, HOLD]
    script = {"stalled": endless, "other": SHORT}
    flags = {"server": {"port": 0, "stall_s": PATIENCE_S}}
    with talk((), flags=flags) as (served, told), connected(served, narrow=True) as stalled:
        told.script = None
        served.engine._script = lambda order: script[order.request.id]
        stalled.sendall(request(id="stalled"))
        for _ in range(20):
            answer = served.client.post("/t/say", json={"prompt": "hello", "id": "other", "stream": True})
            assert answer.content == b"0:a\n[stop]\n"
        assert served.engine.cancelled == []


@pytest.mark.parametrize("cut", [0, 1, 30, -1])
def test_who_sends_nothing_more_is_given_up(talk, caplog, cut):
    with talk(SHORT, flags=FLAGS) as (served, _), connected(served) as stalled:
        stalled.sendall(request()[: cut or None] if cut else b"")
        assert rest_of(stalled) == b""
        assert served.client.post("/t/say", json={"prompt": "hello"}).status_code == 200
        assert len(served.engine.orders) == 1
    assert "sent nothing more of its request" in caplog.text


def test_who_stops_in_a_second_request_is_given_up(talk):
    with talk(SHORT, flags=FLAGS) as (served, _), connected(served) as stalled:
        stalled.sendall(request() + request(id="second")[:40])
        assert rest_of(stalled).count(b"[stop]") == 1
        assert len(served.engine.orders) == 1


class Alarm:
    """What the loop would call later."""

    def __init__(self, call, arguments):
        self._call, self._arguments = call, arguments
        self.on = True

    def cancel(self):
        self.on = False

    def ring(self):
        self.on = False
        self._call(*self._arguments)


class Task:
    """Work that never begins."""

    def add_done_callback(self, _):
        pass


class Loop:
    """Time that passes when the test says so; tasks never begin."""

    def __init__(self):
        self.alarms = []

    def call_later(self, delay_s, call, *arguments):
        self.alarms.append(Alarm(call, arguments))
        return self.alarms[-1]

    def create_task(self, work, **_):
        work.close()
        return Task()

    @property
    def waiting(self):
        return [alarm for alarm in self.alarms if alarm.on]


class Line:
    """The transport: remembers whether the connection was given up."""

    def __init__(self):
        self.aborted = self.paused = False

    def get_extra_info(self, _):
        return None

    def is_closing(self):
        return self.aborted

    def abort(self):
        self.aborted = True

    def pause_reading(self):
        self.paused = True

    def resume_reading(self):
        self.paused = False


@pytest.fixture
def line():
    """A connection on paper: its protocol, its transport and its loop."""
    config = uvicorn.Config(lambda *_: None, log_config=None, lifespan="off")
    config.load()
    loop, transport = Loop(), Line()
    protocol = patient_for(60.0)(config=config, server_state=ServerState(), app_state={}, _loop=loop)
    protocol.connection_made(transport)
    return SimpleNamespace(protocol=protocol, transport=transport, loop=loop)


def test_patience_begins_anew_with_all_that_is_sent(line):
    for byte in request():
        assert len(line.loop.waiting) == 1
        line.protocol.data_received(bytes([byte]))
    assert line.loop.waiting == [], "now it is the server's turn"
    assert not line.transport.aborted


@pytest.mark.parametrize("sent", [0, 1, 30, len(request()) - 1])
def test_patience_ends_while_something_is_missing(line, sent):
    if sent:
        line.protocol.data_received(request()[:sent])
    line.loop.waiting[0].ring()
    assert line.transport.aborted


def test_patience_begins_anew_with_all_that_is_taken(line):
    line.protocol.data_received(request())
    for _ in range(5):
        line.protocol.pause_writing()
        [alarm] = line.loop.waiting
        line.protocol.resume_writing()
        assert not alarm.on
    line.protocol.pause_writing()
    line.loop.waiting[0].ring()
    assert line.transport.aborted


def test_a_body_that_the_server_does_not_take_is_nobodys_fault(line):
    head = b"POST /t/say HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n"
    line.protocol.data_received(head + b"x" * 100_000)
    assert line.transport.paused
    line.loop.waiting[0].ring()
    assert not line.transport.aborted
    assert len(line.loop.waiting) == 1


def test_nothing_is_awaited_of_a_connection_that_is_lost(line):
    line.protocol.data_received(request())
    line.protocol.pause_writing()
    line.protocol.connection_lost(ConnectionResetError())
    assert line.loop.waiting == []
