"""Paths that are answered with one value, over a real socket."""

import threading

import httpx
import msgspec
import pytest
from msgspec import Struct

from mlxp_core import hookimpl
from mlxp_core.contracts import Exchange, Exchanged, WireProtocol
from mlxp_core.errors import BadRequest
from mlxp_core.testing.client import PATIENCE_S, serve
from mlxp_core.testing.engine import HOLD
from mlxp_core.testing.vectors import sketch_vector
from mlxp_core.types import CountRequest, EmbedRequest, Message, Text, WireResponse


class Ask(Struct):
    """What the tests send."""

    texts: list[str]
    extra: str | None = None


class Found(Struct):
    """What they get."""

    numbers: list[float]


def read(wire):
    try:
        return msgspec.json.decode(wire.body, type=Ask)
    except msgspec.MsgspecError as error:
        raise BadRequest(str(error), param="body") from error


def embed(wire):
    ask = read(wire)
    question = EmbedRequest(id="v", model="any", inputs=tuple(ask.texts))
    warnings = () if ask.extra is None else (f"extra: {ask.extra}",)
    return Exchanged(question, write_vector, warnings, {"inputs": "texts"})


def count(wire):
    messages = tuple(Message("user", (Text(text),)) for text in read(wire).texts)
    return Exchanged(CountRequest(id="c", model="any", messages=messages), write_count)


def write_vector(answer):
    return WireResponse(
        body=msgspec.json.encode(Found(list(answer.vectors[0]))), headers={"x-tokens": str(answer.tokens)}
    )


def write_count(answer):
    return WireResponse(body=msgspec.json.encode(Found([answer.tokens])))


def refuse(error):
    body = {"who": "asks", "code": error.code, "message": error.message, "param": error.param}
    return WireResponse(status=error.status, body=msgspec.json.encode(body))


ASKS = WireProtocol(
    name="asks",
    endpoints=tuple(
        Exchange(path=path, decode=decode, accepts=Ask, returns=Found, summary="Ask")
        for path, decode in (("/a/vector", embed), ("/a/count", count))
    ),
    render_error=refuse,
    prefixes=("/a",),
)


class Watching:
    """Waits for the record of a choice that has ended."""

    def __init__(self):
        self.records = []
        self._ended = threading.Semaphore(0)

    @hookimpl
    def mlxp_request_finished(self, record):
        self.records.append(record)
        self._ended.release()

    def wait(self):
        assert self._ended.acquire(timeout=PATIENCE_S), "no choice ended"
        return self.records[-1]


def test_a_question_is_answered():
    watching = Watching()
    with serve([ASKS], plugins=[("watching", watching)]) as served:
        answer = served.client.post("/a/vector", json={"texts": ["hi"]})
        assert answer.status_code == 200
        tokens = served.engine.orders[0].prompt.tokens
        assert tuple(answer.json()["numbers"]) == sketch_vector(tokens)
        assert answer.headers["x-tokens"] == str(len(tokens))
        record = watching.wait()
        assert (record.protocol, record.reason, record.usage.prompt) == ("asks", "stop", len(tokens))


def test_counting_asks_nothing_of_the_engine():
    with serve([ASKS], loading=True) as served:
        assert served.client.post("/a/count", json={"texts": ["hi"]}).json()["numbers"][0] > 1
        assert served.engine.orders == []


def test_what_was_ignored_stands_in_the_header():
    with serve([ASKS]) as served:
        answer = served.client.post("/a/vector", json={"texts": ["hi"], "extra": "x"})
        assert answer.headers["x-mlxp-warnings"] == "extra: x"
    with serve([ASKS], flags={"server": {"strict": True}}) as served:
        assert served.client.post("/a/vector", json={"texts": ["hi"], "extra": "x"}).status_code == 400


@pytest.mark.parametrize(
    ("path", "body", "param"),
    [
        ("/a/count", {"texts": 5}, "body"),
        ("/a/vector", {"texts": [""]}, "texts"),
        ("/a/vector", {"texts": ["a", ""]}, "texts[1]"),
    ],
)
def test_errors_have_the_protocols_shape(path, body, param):
    with serve([ASKS]) as served:
        answer = served.client.post(path, json=body)
        assert answer.status_code == 400
        told = answer.json()
        assert (told["who"], told["code"], told["param"]) == ("asks", "invalid_request", param)
        assert param == "body" or told["message"].startswith(f"{param}: ")


def test_another_method_is_refused():
    with serve([ASKS]) as served:
        assert served.client.get("/a/count").status_code == 405


def test_leaving_cancels_the_work():
    asked, watching = threading.Semaphore(0), Watching()

    def script(_):
        asked.release()
        return (HOLD,)

    with serve([ASKS], script, plugins=[("watching", watching)]) as served:
        with httpx.Client(base_url=served.url, timeout=0.2) as hasty, pytest.raises(httpx.ReadTimeout):
            hasty.post("/a/vector", json={"texts": ["hi"]})
        assert asked.acquire(timeout=PATIENCE_S)
        assert watching.wait().reason == "cancelled"
        assert served.engine.cancelled == ["v"]


def test_the_document_and_the_report_have_it():
    with serve([ASKS]) as served:
        document = served.client.get("/schema/openapi.json").json()
        operation = document["paths"]["/a/vector"]["post"]
        content = operation["responses"]["200"]["content"]
        assert set(content) == {"application/json"}
        assert operation["requestBody"]["content"]["application/json"]["schema"]["$ref"].endswith("/Ask")
        (report,) = served.call(served.desk.protocols)
        assert report.paths == ("POST /a/vector", "POST /a/count")
