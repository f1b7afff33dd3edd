"""Text completions with a clock that stands still and ids that repeat."""

import json

import pytest

from mlxp_core.types import WireRequest
from mlxp_protocols.openai_completions.decode import CompletionDecoder
from mlxp_protocols.openai_completions.plugin import make_protocol


@pytest.fixture(scope="session")
def fixed_protocol():
    return make_protocol(CompletionDecoder(lambda: "cmpl-1", lambda: 1760000000.5, "mlxp-test"))


@pytest.fixture(scope="session")
def decode(fixed_protocol):
    """Decode a body; what is not said of it is one short prompt."""

    def run(**body):
        body = {"prompt": "hi", **body}
        return fixed_protocol.endpoints[0].decode(WireRequest(body=json.dumps(body).encode()))

    return run
