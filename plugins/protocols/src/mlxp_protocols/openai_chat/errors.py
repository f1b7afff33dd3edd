"""Errors of chat completions: before the first byte a response of their own, after it a frame in the stream."""

import msgspec

from mlxp_core.types import Failed, WireResponse
from mlxp_protocols import openai_error, sse

render = openai_error.render


def whole(event: Failed) -> WireResponse:
    """Return the response for a request that failed before anything was sent."""
    return WireResponse(body=msgspec.json.encode(openai_error.of_failed(event)), status=event.status)


def in_stream(event: Failed) -> bytes:
    """Return the last frame of a stream that broke; no ``[DONE]`` follows it, so no client takes it for complete."""
    return sse.frame(msgspec.json.encode(openai_error.of_failed(event)))
