"""Errors in the shape of these endpoints: ``{"error": "...", "code": ..., "param": ...}``."""

import msgspec

from mlxp_core.errors import MlxpError
from mlxp_core.types import Failed, WireResponse
from mlxp_curves.wire import Fault


def render(error: MlxpError) -> WireResponse:
    """Return any error of the tree as a whole response."""
    body = Fault(error.message, error.code, error.param)
    return WireResponse(body=msgspec.json.encode(body), status=error.status, headers=dict(error.headers))


def whole(event: Failed) -> WireResponse:
    """Return the response for samples that could not be drawn."""
    body = Fault(event.message, event.code, None)
    return WireResponse(body=msgspec.json.encode(body), status=event.status)
