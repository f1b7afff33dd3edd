"""Errors have their real status and the shape of whoever owns the path."""

import asyncio
from pathlib import Path

import httpx
import msgspec
import pytest

from mlxp_core.contracts import WireProtocol
from mlxp_core.errors import Busy, NotFound
from mlxp_core.server.errors import Shapes
from mlxp_core.testing.client import PATIENCE_S, SKETCH
from mlxp_core.testing.engine import HOLD
from mlxp_core.types import Finished, Started, Timing, Usage, WireResponse

SHORT = (Started("", ""), Finished("stop", Usage(), Timing()))


def protocol(name, *prefixes):
    def render(error):
        return WireResponse(status=error.status, body=name.encode(), headers={"x-from": name})

    return WireProtocol(name=name, endpoints=(), render_error=render, prefixes=prefixes)


@pytest.mark.parametrize(
    ("path", "owner"),
    [
        ("/v1/chat/nothing", b"chat"),
        ("/v1/chat", b"chat"),
        ("/v1/chatter", b"native"),
        ("/v1/other", b"native"),
        ("/v10", None),
        ("/", None),
    ],
)
def test_the_longest_prefix_owns_a_path(path, owner):
    answer = Shapes([protocol("native", "/v1/"), protocol("chat", "/v1/chat")]).render(path, NotFound("no"))
    if owner is None:
        assert msgspec.json.decode(answer.body)["error"]["message"] == "no"
    else:
        assert answer.body == owner
    assert answer.status == 404


def test_an_errors_own_headers_are_added():
    answer = Shapes([protocol("a", "/")]).render("/x", Busy("no", headers=(("retry-after", "3"),)))
    assert answer.headers == {"x-from": "a", "retry-after": "3"}


def test_bad_json_unknown_paths_and_wrong_methods(talk):
    with talk(SHORT) as (served, _):
        bad = served.client.post("/t/say", content=b"{")
        assert (bad.status_code, bad.json()["who"]) == (400, "lines")
        unknown = served.client.get("/t/nothing")
        assert (unknown.status_code, unknown.json()["who"]) == (404, "lines")
        wrong = served.client.get("/t/say")
        assert (wrong.status_code, wrong.json()["who"]) == (405, "lines")
        assert "POST" in wrong.headers["allow"]
        nobodys = served.client.get("/nowhere")
        assert (nobodys.status_code, nobodys.json()["error"]["code"]) == (404, "not_found")


def test_what_nobody_foresaw_is_a_500_that_gives_nothing_away(talk, caplog):
    with talk(SHORT) as (served, _):
        answer = served.client.post("/t/say", json={"prompt": "x", "break_at": "decode"})
        assert answer.status_code == 500
        assert "told to break" not in answer.text
        assert served.client.post("/t/say", json={"prompt": "x"}).status_code == 200
    assert "decoding was told to break" in caplog.text


@pytest.mark.parametrize("announced", [True, False])
def test_a_body_over_the_limit_is_refused(talk, announced):
    def chunks():
        for _ in range(4):
            yield b"x" * 500

    with talk(SHORT, flags={"server": {"port": 0, "body_limit_bytes": 1000}}) as (served, _):
        body = b"x" * 2000 if announced else chunks()
        answer = served.client.post("/t/say", content=body)
        assert (answer.status_code, answer.json()["who"]) == (413, "lines")
        assert "1000" in answer.json()["message"]


def test_a_model_that_is_not_there_is_a_404(talk):
    models = [msgspec.structs.replace(SKETCH, id=name, path=Path(name)) for name in ("a", "b")]
    with talk(SHORT, models=models) as (served, _):
        answer = served.client.post("/t/say", json={"prompt": "x"})
        assert (answer.status_code, answer.json()["code"]) == (404, "model_not_found")


def test_a_full_queue_is_a_429_that_says_when_to_come_back(talk):
    async def two(url, told):
        async with httpx.AsyncClient(base_url=url, timeout=PATIENCE_S) as client:
            first = asyncio.create_task(client.post("/t/say", json={"prompt": "x", "id": "one"}))
            await asyncio.to_thread(told.wait_asked)
            second = await client.post("/t/say", json={"prompt": "x", "id": "two", "choices": 2})
            first.cancel()
            await asyncio.gather(first, return_exceptions=True)
            return second

    flags = {"engine": {"batch": 1, "queue": 1}}
    with talk([HOLD], flags=flags) as (served, told):
        answer = asyncio.run(two(str(served.client.base_url), told))
        assert (answer.status_code, answer.json()["code"]) == (429, "rate_limit_exceeded")
        assert int(answer.headers["retry-after"]) >= 1


def test_a_lost_engine_is_a_503_at_once_for_all(talk):
    async def lose(served, told):
        async with httpx.AsyncClient(base_url=served.client.base_url, timeout=PATIENCE_S) as client:
            running = asyncio.create_task(client.post("/t/say", json={"prompt": "x"}))
            await asyncio.to_thread(told.wait_asked)
            served.call(lambda: served.engine.lose("it fell"))
            return await running

    with talk([HOLD]) as (served, told):
        assert served.client.get("/health").status_code == 200
        assert asyncio.run(lose(served, told)).status_code == 503
        assert served.client.get("/health").status_code == 503
        answer = served.client.post("/t/say", json={"prompt": "x"})
        assert (answer.status_code, answer.json()["code"]) == (503, "unavailable")
