"""Whole requests and answers beside what becomes of them; a new case is two files in ``golden/``.

``NAME.request.json`` and ``NAME.internal.json``: a body, and the request that it means.
``NAME.events.json`` with ``NAME.stream.txt`` or ``NAME.whole.json``: events, and the bytes that go out.
"""

import json
from pathlib import Path

import msgspec
import pytest

from mlxp_core.types import Event, WireRequest

GOLDEN = Path(__file__).parent / "golden"
REQUESTS = sorted(GOLDEN.glob("*.request.json"))
ANSWERS = sorted([*GOLDEN.glob("*.stream.txt"), *GOLDEN.glob("*.whole.json")])


def events_of(answer):
    name = answer.name.partition(".")[0]
    return msgspec.json.decode((GOLDEN / f"{name}.events.json").read_bytes(), type=list[Event])


def test_every_file_has_its_partner():
    names = {path.name for path in GOLDEN.iterdir()}
    partners = {path.name.replace(".request.", ".internal.") for path in REQUESTS}
    partners |= {f"{path.name.partition('.')[0]}.events.json" for path in ANSWERS}
    assert REQUESTS
    assert ANSWERS
    assert names == partners | {path.name for path in (*REQUESTS, *ANSWERS)}


@pytest.mark.parametrize("path", REQUESTS, ids=lambda path: path.name)
def test_requests_mean_what_stands_beside_them(surface, path):
    decoded = surface.endpoints[0].decode(WireRequest(body=path.read_bytes()))
    internal = json.loads((GOLDEN / path.name.replace(".request.", ".internal.")).read_text(encoding="utf-8"))
    said = {"request": decoded.request, "warnings": decoded.warnings, "streaming": decoded.encoder.streaming}
    assert json.loads(msgspec.json.encode(said)) == internal


@pytest.mark.parametrize("path", ANSWERS, ids=lambda path: path.name)
def test_answers_are_the_bytes_that_stand_beside_them(decode, path):
    streaming = path.name.endswith(".stream.txt")
    encoder = decode(stream=streaming).encoder
    said = b"".join(encoder.feed(event) for event in events_of(path))
    assert said.decode() == path.read_text(encoding="utf-8").rstrip("\n") + ("\n\n" if streaming else "")
