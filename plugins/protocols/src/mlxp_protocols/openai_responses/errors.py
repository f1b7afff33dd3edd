"""Errors of responses: before the first byte a response of their own, after it a failed response in the stream."""

from typing import ClassVar

import msgspec

from mlxp_core.errors import BadRequest
from mlxp_core.types import Failed, WireResponse
from mlxp_protocols import openai_error
from mlxp_protocols.openai_responses.wire_answer import Fault

render = openai_error.render

_SERVER_FAULT = 500
_BUSY = 429


class UnknownPrevious(BadRequest):
    """The request goes on from a response that is not kept; clients know it by its code and send all again."""

    status: ClassVar[int] = 404
    code: ClassVar[str] = "previous_response_not_found"


def whole(event: Failed) -> WireResponse:
    """Return the response for a request that failed before anything was sent."""
    return WireResponse(body=msgspec.json.encode(openai_error.of_failed(event)), status=event.status)


def fault_of(event: Failed) -> Fault:
    """Return the fault of a failed response; its codes are a closed list."""
    if event.status >= _SERVER_FAULT:
        code = "server_error"
    elif event.status == _BUSY:
        code = "rate_limit_exceeded"
    else:
        code = "invalid_prompt"
    return Fault(code, event.message)
