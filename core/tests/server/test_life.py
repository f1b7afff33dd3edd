"""From start to stop."""

import asyncio
import socket
import threading

import httpx
import pytest
from msgspec.structs import replace

from mlxp_core import hookimpl
from mlxp_core.errors import PluginError, SetupError
from mlxp_core.server import bind
from mlxp_core.server.app import _check_paths
from mlxp_core.testing.client import PATIENCE_S, serve
from mlxp_core.testing.engine import HOLD
from mlxp_core.types import Finished, ServerSettings, Started, TextDelta, Timing, Usage

LAST = Finished("stop", Usage(), Timing())
SHORT = (Started("", ""), TextDelta("a"), LAST)


class Observing:
    def __init__(self):
        self.seen = []
        self.loaded = threading.Event()

    @hookimpl
    def mlxp_started(self, services):
        self.seen.append("started")

    @hookimpl
    def mlxp_model_loaded(self, model):
        self.seen.append(f"loaded {model.id}")
        self.loaded.set()

    @hookimpl
    def mlxp_stopping(self):
        self.seen.append("stopping")


def test_requests_wait_while_weights_load(talk):
    async def ask_early(served, told):
        async with httpx.AsyncClient(base_url=served.client.base_url, timeout=PATIENCE_S) as client:
            asking = asyncio.create_task(client.post("/t/say", json={"prompt": "x"}))
            await asyncio.to_thread(told.wait_asked)
            assert (await client.get("/health")).status_code == 503
            served.call(served.engine.load)
            return await asking

    with talk(SHORT, loading=True) as (served, told):
        assert asyncio.run(ask_early(served, told)).text == "0:a\n[stop]\n"
        assert served.client.get("/health").status_code == 200


def test_observers_hear_of_a_servers_life(talk):
    observing = Observing()
    with serve([], SHORT, loading=True, plugins=[("observing", observing)]) as served:
        assert served.client.get("/nothing").status_code == 404
        assert observing.seen == ["started"]
        served.call(served.engine.load)
        assert observing.loaded.wait(PATIENCE_S)
    assert observing.seen == ["started", "loaded sketch", "stopping"]


def test_stopping_lets_running_answers_finish(talk):
    with talk((Started("", ""), TextDelta("a"), HOLD, TextDelta("b"), LAST)) as (served, _):
        with served.client.stream("POST", "/t/say", json={"prompt": "x", "stream": True}) as answer:
            pieces = answer.iter_bytes()
            assert next(pieces) == b"0:a\n"
            served.ask_to_stop()
            served.call(served.engine.release)
            assert b"".join(pieces) == b"0:b\n[stop]\n"
        served.join()
        assert served.engine.cancelled == []


def test_stopping_cancels_what_outlives_the_grace_with_a_proper_end(talk):
    flags = {"server": {"port": 0, "grace_s": 0.05}}
    with talk((Started("", ""), TextDelta("a"), HOLD), flags=flags) as (served, _):
        with served.client.stream("POST", "/t/say", json={"prompt": "x", "stream": True}) as answer:
            pieces = answer.iter_bytes()
            assert next(pieces) == b"0:a\n"
            served.ask_to_stop()
            assert b"".join(pieces) == b"[cancelled]\n"
        served.join()
        with pytest.raises(httpx.ConnectError):
            served.client.get("/health")


def test_a_taken_port_is_said_clearly():
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(SetupError, match=rf"port {port} .* --port"):
            bind(ServerSettings(port=port))


def test_an_address_of_another_machine_is_said_clearly():
    with pytest.raises(SetupError, match=r"192\.0\.2\.1"):
        bind(ServerSettings(host="192.0.2.1", port=0))


def test_two_protocols_on_one_path_are_named(lines):
    with pytest.raises(PluginError, match=r"'lines' and 'copy' .* POST /t/say"):
        _check_paths([lines, replace(lines, name="copy")])
