"""The error body that OpenAI's clients understand, for every surface that they talk to."""

import msgspec
from msgspec import Struct

from mlxp_core.errors import MlxpError
from mlxp_core.types import Failed, WireResponse
from mlxp_protocols import sse

_SERVER_FAULT = 500
_TYPES = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}


class ErrorDetail(Struct, frozen=True):
    """What went wrong; ``param`` names the request field at fault, ``code`` is stable."""

    message: str
    type: str
    param: str | None
    code: str | None


class ErrorBody(Struct, frozen=True):
    """The envelope."""

    error: ErrorDetail


def render(error: MlxpError) -> WireResponse:
    """Return any error of the tree as a whole response."""
    body = _body(error.message, error.status, error.code, error.param)
    return WireResponse(body=msgspec.json.encode(body), status=error.status, headers=dict(error.headers))


def whole(event: Failed) -> WireResponse:
    """Return the response for a request that failed before anything was sent."""
    return WireResponse(body=msgspec.json.encode(of_failed(event)), status=event.status)


def in_stream(event: Failed) -> bytes:
    """Return the last frame of a stream that broke; no ``[DONE]`` follows it, so no client takes it for complete."""
    return sse.frame(msgspec.json.encode(of_failed(event)))


def of_failed(event: Failed) -> ErrorBody:
    """Return the envelope for a choice that cannot go on."""
    return _body(event.message, event.status, event.code, None)


def _body(message: str, status: int, code: str, param: str | None) -> ErrorBody:
    kind = "server_error" if status >= _SERVER_FAULT else _TYPES.get(status, "invalid_request_error")
    return ErrorBody(ErrorDetail(message=message, type=kind, param=param, code=code))
