"""Errors as Anthropic's clients know them: before the first byte a response, after it the last event of the stream."""

import msgspec
from msgspec import Struct

from mlxp_core.errors import Busy, MlxpError
from mlxp_core.types import Failed, WireResponse
from mlxp_protocols import sse

REQUEST_ID_HEADER = "x-request-id"
"""Where the server puts the id of a request: among the request's headers, and among those of an error."""

OVERLOADED = 529
"""The status of a full queue, which is 429 elsewhere; here 429 means that the client itself asks too often."""

_SERVER_FAULT = 500
_TYPES = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    OVERLOADED: "overloaded_error",
}


class ErrorDetail(Struct, frozen=True):
    """What went wrong."""

    type: str
    message: str


class ErrorBody(Struct, frozen=True, tag_field="type", tag="error"):
    """The envelope."""

    error: ErrorDetail
    request_id: str | None


def render(error: MlxpError) -> WireResponse:
    """Return any error of the tree as a whole response."""
    headers = dict(error.headers)
    status = _status(error.status, error.code)
    return _response(_body(error.message, status, headers.get(REQUEST_ID_HEADER)), status, headers)


def whole(event: Failed, request_id: str | None) -> WireResponse:
    """Return the response for a request that failed before anything was sent."""
    status = _status(event.status, event.code)
    return _response(_body(event.message, status, request_id), status, {})


def in_stream(event: Failed, request_id: str | None) -> bytes:
    """Return the last event of a stream that broke; no ``message_stop`` follows, so nobody takes it for complete."""
    body = _body(event.message, _status(event.status, event.code), request_id)
    return sse.frame(msgspec.json.encode(body), "error")


def _status(status: int, code: str) -> int:
    return OVERLOADED if code == Busy.code else status


def _body(message: str, status: int, request_id: str | None) -> ErrorBody:
    kind = _TYPES.get(status, "api_error" if status >= _SERVER_FAULT else "invalid_request_error")
    return ErrorBody(ErrorDetail(kind, message), request_id)


def _response(body: ErrorBody, status: int, headers: dict[str, str]) -> WireResponse:
    return WireResponse(body=msgspec.json.encode(body), status=status, headers=headers)
