"""Chat completions with a clock that stands still and ids that repeat."""

import json

import pytest

from mlxp_core.types import WireRequest
from mlxp_protocols.openai_chat.decode import ChatDecoder
from mlxp_protocols.openai_chat.plugin import make_protocol


@pytest.fixture(scope="session")
def fixed_protocol():
    return make_protocol(ChatDecoder(lambda: "chatcmpl-1", lambda: 1760000000.5, "mlxp-test"))


@pytest.fixture(scope="session")
def decode(fixed_protocol):
    """Decode a body; what is not said of it is one short user message."""

    def run(**body):
        body = {"messages": [{"role": "user", "content": "hi"}], **body}
        return fixed_protocol.endpoints[0].decode(WireRequest(body=json.dumps(body).encode()))

    return run
