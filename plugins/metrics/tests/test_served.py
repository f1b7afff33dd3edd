"""Over HTTP, with the kit's engine behind it."""

import asyncio
from concurrent.futures import Future

from prometheus_client.parser import text_string_to_metric_families

from mlxp_core.testing.client import PATIENCE_S, serve
from mlxp_core.types import GenerateRequest
from mlxp_metrics.plugin import MetricsPlugin


def ask(served, name):
    async def story():
        request = GenerateRequest(id=name, model="", prompt="hello", max_tokens=2)
        ticket = await served.desk.generate(request, protocol="test")
        return [event async for event in ticket.events()]

    done = Future()
    served.call(lambda: asyncio.ensure_future(story()).add_done_callback(done.set_result))
    return done.result(PATIENCE_S).result()


def read(served, **headers):
    answer = served.client.get("/metrics", headers=headers)
    assert answer.status_code == 200
    families = text_string_to_metric_families(answer.text)
    return {
        (sample.name, *dict(sorted(sample.labels.items())).values()): sample.value
        for family in families
        for sample in family.samples
    }


def test_what_finished_is_counted():
    with serve([], [ord("h"), ord("i")], plugins=[("metrics", MetricsPlugin)]) as served:
        assert ("mlxp_requests_total", "sketch", "test", "length") not in read(served)
        ask(served, "one")
        ask(served, "two")
        told = read(served)
        assert told["mlxp_requests_total", "sketch", "test", "length"] == 2
        assert told["mlxp_tokens_total", "completion", "sketch", "test"] == 4
        assert told["mlxp_engine_state", "ready"] == 1
        stats = served.desk.stats()
        assert told["mlxp_engine_steps_total",] == stats.steps


def test_servers_do_not_share_their_numbers():
    for _ in range(2):
        with serve([], [ord("h")], plugins=[("metrics", MetricsPlugin)]) as served:
            ask(served, "one")
            assert read(served)["mlxp_requests_total", "sketch", "test", "length"] == 1


def test_it_takes_a_key_where_there_are_keys():
    flags = {"server": {"port": 0, "api_keys": ["k"]}}
    with serve([], (), plugins=[("metrics", MetricsPlugin)], flags=flags) as served:
        assert served.client.get("/metrics").status_code == 401
        assert read(served, authorization="Bearer k")
