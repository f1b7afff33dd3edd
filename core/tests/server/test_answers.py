"""Answers, whole and streamed, over a real socket."""

import asyncio
import json

import httpx
import pytest

from mlxp_core.server.endpoints import LONGEST_WARNING
from mlxp_core.testing.client import PATIENCE_S
from mlxp_core.testing.engine import HOLD
from mlxp_core.types import Failed, Finished, Started, TextDelta, Timing, Usage

LAST = Finished("stop", Usage(prompt=5, completion=2), Timing())
HELLO = (Started("", ""), TextDelta("hel"), TextDelta("lo"), LAST)
SAID = b"0:hel\n0:lo\n[stop]\n"


def ask(**fields):
    return {"prompt": "hello", **fields}


def stream(served):
    return served.client.stream("POST", "/t/say", json=ask(stream=True))


@pytest.mark.parametrize("stream", [False, True])
def test_the_answer_is_what_the_engine_said(talk, stream):
    with talk(HELLO) as (served, told):
        answer = served.client.post("/t/say", json=ask(stream=stream))
        assert answer.status_code == 200
        assert answer.content == SAID
        record = told.wait_ended()
        assert (record.protocol, record.model, record.reason) == ("lines", "sketch", "stop")


def test_a_stream_is_sent_while_it_is_made(talk):
    script = (Started("", ""), TextDelta("a"), HOLD, TextDelta("b"), LAST)
    with talk(script) as (served, _), stream(served) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        assert answer.headers["cache-control"] == "no-cache"
        pieces = answer.iter_bytes()
        assert next(pieces) == b"0:a\n"
        served.call(served.engine.release)
        assert b"".join(pieces) == b"0:b\n[stop]\n"


def test_choices_come_under_one_roof(talk):
    with talk(HELLO) as (served, _):
        lines = served.client.post("/t/say", json=ask(choices=3)).text.splitlines()
        assert sorted(lines) == sorted(
            [f"{choice}:{text}" for choice in range(3) for text in ("hel", "lo")] + ["[stop]"] * 3
        )


def test_sixteen_at_once(talk):
    async def all_at_once(url):
        async with httpx.AsyncClient(base_url=url, timeout=PATIENCE_S) as client:
            return await asyncio.gather(
                *(
                    client.post("/t/say", json=ask(id=f"r{number}", stream=bool(number % 2)))
                    for number in range(16)
                )
            )

    with talk(HELLO) as (served, _):
        answers = asyncio.run(all_at_once(str(served.client.base_url)))
        assert [answer.content for answer in answers] == [SAID] * 16
        assert served.call(served.engine.stats).finished == 16


def test_leaving_a_stream_cancels_it(talk):
    with talk((Started("", ""), TextDelta("a"), HOLD)) as (served, told):
        with stream(served) as answer:
            assert next(answer.iter_bytes()) == b"0:a\n"
        assert told.wait_ended().reason == "cancelled"
        assert served.engine.cancelled == ["r"]
        assert served.call(served.engine.stats).running == 0


@pytest.mark.parametrize("stream", [False, True])
def test_leaving_before_the_first_byte_cancels_too(talk, stream):
    async def leave(url, told):
        async with httpx.AsyncClient(base_url=url, timeout=PATIENCE_S) as client:
            asking = asyncio.create_task(client.post("/t/say", json=ask(stream=stream)))
            await asyncio.to_thread(told.wait_asked)
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)

    with talk([HOLD]) as (served, told):
        asyncio.run(leave(str(served.client.base_url), told))
        assert told.wait_ended().reason == "cancelled"
        assert served.engine.cancelled == ["r"]


def test_a_slow_reader_holds_nobody(talk):
    long = [Started("", ""), *[TextDelta("x" * 50_000)] * 200, LAST]
    with talk(long) as (served, told), stream(served) as slow:
        assert told.wait_ended().reason == "stop"  # while not a byte of the body was taken
        assert len(slow.read()) == 200 * 50_003 + len("[stop]\n")


def test_silence_is_filled_with_keep_alives(talk):
    flags = {"server": {"port": 0, "keep_alive_s": 0.02}}
    with talk([HOLD, *HELLO], flags=flags) as (served, _), stream(served) as answer:
        lines = answer.iter_lines()
        assert [next(lines), next(lines)] == ["(still here)"] * 2
        served.call(served.engine.release)
        rest = [line for line in lines if line != "(still here)"]
        assert rest == SAID.decode().splitlines()


def test_a_failure_before_the_first_byte_has_a_status(talk):
    with talk((Started("", ""), Failed("engine_fault", "it broke", 500))) as (served, _):
        for stream in (False, True):
            answer = served.client.post("/t/say", json=ask(stream=stream))
            assert (answer.status_code, answer.text) == (500, "failed: it broke")


def test_a_failure_later_ends_the_stream_in_the_protocols_way(talk):
    with talk((Started("", ""), TextDelta("a"), Failed("engine_fault", "it broke", 500))) as (served, _):
        answer = served.client.post("/t/say", json=ask(stream=True))
        assert (answer.status_code, answer.text) == (200, "0:a\n[failed engine_fault]\n")


def test_an_encoder_that_breaks_ends_its_own_answer_only(talk, caplog):
    with talk((Started("", ""), TextDelta("a"), HOLD, LAST)) as (served, told):
        with served.client.stream("POST", "/t/say", json=ask(stream=True, break_at="Finished")) as answer:
            pieces = answer.iter_bytes()
            assert next(pieces) == b"0:a\n"
            served.call(served.engine.release)
            assert b"".join(pieces) == b"[failed engine_fault]\n"
        told.wait_ended()
        whole = served.client.post("/t/say", json=ask(break_at="TextDelta"))
        assert whole.status_code == 500
        assert whole.json()["who"] == "lines"
        assert "told to break" not in whole.text
        assert whole.headers["x-request-id"] in whole.json()["message"]
    assert any(whole.headers["x-request-id"] in entry.getMessage() for entry in caplog.records)


@pytest.mark.parametrize("stream", [True, False])
def test_a_warning_that_ends_blank_breaks_no_header(talk, stream):
    with talk(HELLO) as (served, _):
        for extra in ("x ", f"{'x' * (LONGEST_WARNING - len('extra: ') - 1)} y", "\t"):
            answer = served.client.post("/t/say", json=ask(extra=extra, stream=stream))
            assert answer.status_code == 200
            assert answer.headers["x-mlxp-warnings"].startswith("extra:")


def test_warnings_are_a_header_that_nobody_can_break_out_of(talk):
    with talk(HELLO) as (served, _):
        answer = served.client.post("/t/say", json=ask(extra="tüx\r\nset-cookie: a=b"))
        assert answer.headers["x-mlxp-warnings"] == "extra: t?x??set-cookie: a=b"
        assert "set-cookie" not in answer.headers
        assert "x-mlxp-warnings" not in served.client.post("/t/say", json=ask()).headers


def test_what_the_desk_refuses_is_told_by_the_clients_own_names(talk):
    with talk(HELLO) as (served, _):
        asked = {"id": "long", "prompt": "hi", "max_tokens": 10**6}
        told = served.client.post("/t/say", json=asked).json()
    assert (told["code"], told["param"]) == ("context_length_exceeded", "letters")
    assert told["message"].startswith("letters: ")


def test_a_strict_server_refuses_what_others_warn_of(talk):
    with talk(HELLO, flags={"server": {"port": 0, "strict": True}}) as (served, _):
        answer = served.client.post("/t/say", json=ask(extra="knob"))
        assert answer.status_code == 400
        assert "knob" in answer.json()["message"]
        assert served.engine.orders == []


def test_a_query_gets_what_was_asked(talk):
    with talk(HELLO) as (served, _):
        wire = json.loads(served.client.get("/t/echo/word?a=1&b=x%20y", headers={"X-Some": "Thing"}).text)
        assert wire["params"] == {"word": "word"}
        assert wire["query"] == {"a": "1", "b": "x y"}
        assert wire["headers"]["x-some"] == "Thing"
        assert served.client.head("/t/echo/word").status_code == 200


def test_every_answer_has_a_request_id_the_clients_own_if_decent(talk):
    with talk(HELLO) as (served, _):
        for path in ("/health", "/t/nothing", "/nowhere"):
            assert served.client.get(path).headers["x-request-id"].startswith("req_")
            own = served.client.get(path, headers={"x-request-id": "mine-1"})
            assert own.headers["x-request-id"] == own.headers["request-id"] == "mine-1"
            assert own.headers.get_list("x-request-id") == ["mine-1"]
        long = served.client.get("/health", headers={"x-request-id": "x" * 300})
        assert long.headers["x-request-id"].startswith("req_")
