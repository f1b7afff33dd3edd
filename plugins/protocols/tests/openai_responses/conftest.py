"""Responses with clocks that stand still and ids that count."""

import json
from itertools import count
from types import SimpleNamespace

import pytest

from mlxp_core.types import WireRequest
from mlxp_protocols.openai_responses.decode import ResponsesDecoder
from mlxp_protocols.openai_responses.plugin import make_protocol
from mlxp_protocols.openai_responses.queries import KeptResponses
from mlxp_protocols.openai_responses.store import ResponseStore

NOW = 1760000000.5


@pytest.fixture
def clock():
    """Seconds, to be set by hand."""
    return SimpleNamespace(now=1000.0)


@pytest.fixture
def store(clock):
    return ResponseStore(keep_s=3600.0, keep_bytes=2**20, clock=lambda: clock.now)


@pytest.fixture
def new_surface(store):
    """Make a protocol; its responses are resp_1, resp_2 ..."""

    def make():
        numbers = count(1)
        decoder = ResponsesDecoder(store, lambda: str(next(numbers)), lambda: NOW)
        return make_protocol(decoder, KeptResponses(store))

    return make


@pytest.fixture
def surface(new_surface):
    return new_surface()


@pytest.fixture
def decode(surface):
    """Decode a body; what is not said of it is one short input."""

    def run(**body):
        body = {"input": "hi", **body}
        return surface.endpoints[0].decode(WireRequest(body=json.dumps(body).encode()))

    return run


@pytest.fixture
def answer(decode):
    """Encode events as a whole response; returns its JSON."""

    def run(events, **body):
        encoder = decode(**body).encoder
        return json.loads(b"".join(encoder.feed(event) for event in events))

    return run


@pytest.fixture
def query(surface):
    """Ask about kept responses by method and path."""

    def run(method, path, response_id, **asked):
        found = next(one for one in surface.endpoints[1:] if (one.method, one.path) == (method, path))
        request = WireRequest(method=method, path=path, params={"response_id": response_id}, query=asked)
        return json.loads(found.answer(request, None).body)

    return run
