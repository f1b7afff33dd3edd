"""Anthropic messages with ids that repeat."""

import json

import pytest

from mlxp_core.types import WireRequest
from mlxp_protocols.anthropic_messages.decode import MessagesDecoder
from mlxp_protocols.anthropic_messages.plugin import make_protocol


@pytest.fixture(scope="session")
def fixed_protocol():
    return make_protocol(MessagesDecoder(lambda: "msg_1"))


@pytest.fixture(scope="session")
def decode(fixed_protocol):
    """Decode a body; what is not said of it is one short user message and a limit."""

    def run(**body):
        body = {"messages": [{"role": "user", "content": "hi"}], "max_tokens": 64, **body}
        headers = {"x-request-id": "req_1", "anthropic-beta": "a,b"}
        request = WireRequest(body=json.dumps(body).encode(), headers=headers, query={"beta": "true"})
        return fixed_protocol.endpoints[0].decode(request)

    return run
