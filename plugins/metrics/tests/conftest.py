"""Records of choices."""

import pytest

from mlxp_core.types import RequestRecord, Timing, Usage


@pytest.fixture
def record():
    """Make a record."""

    def make(*, reason="stop", error=None, protocol="chat", model="m", usage=None, timing=None):
        return RequestRecord(
            request_id="r",
            protocol=protocol,
            model=model,
            usage=usage or Usage(prompt=10, cached=4, completion=5, thinking=2),
            timing=timing or Timing(queued_s=0.2, prefill_s=0.3, decode_s=2.0),
            reason=reason,
            error=error,
        )

    return make
