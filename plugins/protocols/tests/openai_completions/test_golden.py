"""Whole requests and answers beside what becomes of them; a new case is two files in ``golden/``.

``NAME.request.json`` and ``NAME.internal.json``: a body, and the request that it means.
``NAME.events.json`` with ``NAME.stream.txt`` or ``NAME.whole.json``: events, and the bytes that go out. Where there is
``NAME.request.json``, too, it is what they answer.
"""

import json
from pathlib import Path

import msgspec
import pytest

from mlxp_core.types import Event, WireRequest

GOLDEN = Path(__file__).parent / "golden"
REQUESTS = sorted(GOLDEN.glob("*.request.json"))
ANSWERS = sorted([*GOLDEN.glob("*.stream.txt"), *GOLDEN.glob("*.whole.json")])


def beside(path, kind):
    return GOLDEN / f"{path.name.partition('.')[0]}.{kind}.json"


def test_every_file_has_its_partner():
    partners = {beside(path, "internal") for path in REQUESTS} | {beside(path, "events") for path in ANSWERS}
    assert REQUESTS
    assert ANSWERS
    assert set(GOLDEN.iterdir()) == partners | {*REQUESTS, *ANSWERS}


@pytest.mark.parametrize("path", REQUESTS, ids=lambda path: path.name)
def test_requests_mean_what_stands_beside_them(fixed_protocol, path):
    decoded = fixed_protocol.endpoints[0].decode(WireRequest(body=path.read_bytes()))
    said = {"request": decoded.request, "warnings": decoded.warnings, "streaming": decoded.encoder.streaming}
    assert json.loads(msgspec.json.encode(said)) == json.loads(beside(path, "internal").read_bytes())


@pytest.mark.parametrize("path", ANSWERS, ids=lambda path: path.name)
def test_answers_are_the_bytes_that_stand_beside_them(decode, path):
    events = msgspec.json.decode(beside(path, "events").read_bytes(), type=list[Event])
    request = beside(path, "request")
    asked = json.loads(request.read_bytes()) if request.exists() else {}
    streaming = path.name.endswith(".stream.txt")
    options = {"stream_options": {"include_usage": True}} if streaming else {}
    encoder = decode(**{**asked, "stream": streaming, **options}).encoder
    said = b"".join(encoder.feed(event) for event in events)
    assert said.decode() == path.read_text(encoding="utf-8").rstrip("\n") + ("\n\n" if streaming else "")
