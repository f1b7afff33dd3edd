"""The list of requests, over HTTP and without."""

import asyncio
from concurrent.futures import Future

import pytest

from mlxp_core.testing.client import PATIENCE_S, serve
from mlxp_core.testing.engine import HOLD
from mlxp_core.testing.plugin import PluginSuite
from mlxp_core.types import GenerateRequest, RequestRecord, Reuse, Timing, Usage
from mlxp_protocols.requests.plugin import RequestsPlugin
from mlxp_protocols.requests.recent import KEPT, Recent


class TestPlugin(PluginSuite):
    @pytest.fixture
    def plugin(self):
        return RequestsPlugin


def record(name="r", **more):
    told = {"protocol": "chat", "model": "m", "usage": Usage(), "timing": Timing(), "reason": "stop"}
    return RequestRecord(request_id=name, **{**told, **more})


def begin(served, name):
    """Ask for an answer; return what will be its events."""

    async def story():
        request = GenerateRequest(id=name, model="", prompt="hello", max_tokens=2)
        ticket = await served.desk.generate(request, protocol="test")
        return [event async for event in ticket.events()]

    done = Future()
    served.call(lambda: asyncio.ensure_future(story()).add_done_callback(done.set_result))
    return done


def listed(served, **query):
    answer = served.client.get("/v1/requests", params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_what_runs_and_what_ended_is_listed():
    with serve([], [HOLD, ord("h"), ord("i")], plugins=[("requests", RequestsPlugin)]) as served:
        assert listed(served) == {"object": "list", "running": [], "ended": []}
        answers = [begin(served, name) for name in ("one", "two")]
        while len(listed(served)["running"]) < 2 or len(served.engine.holding) < 2:
            pass
        told = listed(served)
        assert [each["id"] for each in told["running"]] == ["one", "two"]
        assert told["running"][0]["protocol"] == "test"
        served.call(served.engine.release)
        for answer in answers:
            answer.result(PATIENCE_S)
        told = listed(served)
        assert told["running"] == []
        assert {each["id"] for each in told["ended"]} == {"one", "two"}
        assert {each["completion_tokens"] for each in told["ended"]} == {2}
        assert len(listed(served, limit=1)["ended"]) == 1
        assert listed(served, limit=0)["ended"] == []


def test_the_newest_comes_first_and_the_oldest_is_forgotten():
    recent = Recent(lambda: 1760000000.5)
    for number in range(KEPT + 5):
        recent.add(record(str(number)))
    newest = recent.newest(KEPT + 5)
    assert [each.id for each in newest] == [str(number) for number in range(KEPT + 4, 4, -1)]
    assert newest[0].ended_at == 1760000000500


def test_what_was_said_is_not_told():
    why = "message 2 parts from what is known at 'attack at dawn'"
    reuse = Reuse(prompt=9, cached=4, shared=5, cause="different", why=why)
    recent = Recent(lambda: 0.0)
    recent.add(record(usage=Usage(prompt=9, cached=4), reuse=reuse))
    (told,) = recent.newest(1)
    assert (told.cached_tokens, told.cause) == (4, "different")
    assert "dawn" not in str(told)


@pytest.mark.parametrize("limit", ["-1", "x", "1.5", "9" * 12])
def test_a_limit_is_a_number(limit):
    with serve([], (), plugins=[("requests", RequestsPlugin)]) as served:
        answer = served.client.get("/v1/requests", params={"limit": limit})
        assert answer.status_code == 400
        assert answer.json()["error"]["param"] == "limit"
