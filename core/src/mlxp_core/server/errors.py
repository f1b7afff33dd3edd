"""Any error, in the shape of the protocol that owns the path.

A path belongs to the protocol with the longest matching prefix; its endpoints' paths count as prefixes too. What
nobody owns gets the plain shape below. This is also the server's last handler: what nobody foresaw is logged with the
request's id and answered with a 500 that gives nothing away.
"""

import logging
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import msgspec
from litestar import Response
from litestar.exceptions import HTTPException
from litestar.status_codes import HTTP_413_REQUEST_ENTITY_TOO_LARGE

from mlxp_core.contracts import Encoder, WireProtocol
from mlxp_core.errors import (
    BadRequest,
    EngineFault,
    Forbidden,
    MethodNotAllowed,
    MlxpError,
    NotFound,
    TooLarge,
    Unauthorized,
)
from mlxp_core.server.request_id import HEADER, HttpRequest, request_id
from mlxp_core.types import Failed, WireResponse

log = logging.getLogger("mlxp.server")

CLIENT_LEFT = 499  # what proxies log for a client that closed the connection; nobody receives it

Render = Callable[[MlxpError], WireResponse]
Handlers = dict[int | type[Exception], Callable[[HttpRequest, Any], Response[Any]]]


class ClientLeft(Exception):
    """Nobody waits for the answer any more."""


class Shapes:
    """Which protocol renders errors under which path."""

    def __init__(self, protocols: Iterable[WireProtocol]) -> None:
        """Gather the prefixes of all protocols, longest first."""
        owned = [
            (prefix.rstrip("/"), protocol.render_error)
            for protocol in protocols
            for prefix in (*protocol.prefixes, *(_fixed_part(one.path) for one in protocol.endpoints))
        ]
        self._owned: list[tuple[str, Render]] = sorted(owned, key=lambda pair: len(pair[0]), reverse=True)

    def render(self, path: str, error: MlxpError) -> WireResponse:
        """Return the response for an error under ``path``, its own headers included."""
        response = self._renderer(path)(error)
        if not error.headers:
            return response
        return msgspec.structs.replace(response, headers={**response.headers, **dict(error.headers)})

    def _renderer(self, path: str) -> Render:
        for prefix, render in self._owned:
            if path == prefix or path.startswith(f"{prefix}/"):
                return render
        return plain


def plain(error: MlxpError) -> WireResponse:
    """Render an error where no protocol does."""
    told = {"message": error.message, "type": error.code, "param": error.param, "code": error.code}
    return WireResponse(status=error.status, body=msgspec.json.encode({"error": told}))


def respond(answer: WireResponse) -> Response[bytes]:
    """Turn a whole answer into a response."""
    return Response(
        answer.body, status_code=answer.status, media_type=answer.media_type, headers=dict(answer.headers)
    )


def exception_handlers(shapes: Shapes, body_limit_bytes: int) -> Handlers:
    """Return Litestar's table of exception handlers."""

    def handle(request: HttpRequest, error: Exception) -> Response[bytes]:
        if isinstance(error, ClientLeft):
            return Response(b"", status_code=CLIENT_LEFT, media_type="text/plain")
        ours = _ours(error, request, body_limit_bytes)
        ours.headers = (
            (HEADER, request_id(request.scope)),
            *ours.headers,
        )  # a protocol may tell it in the body
        return respond(shapes.render(request.url.path, ours))

    return {MlxpError: handle, HTTPException: handle, Exception: handle}


@contextmanager
def by_the_names_of(names: Mapping[str, str]) -> Iterator[None]:
    """Have errors name fields as the client does, in ``param`` and in the message.

    Args:
        names: what the client's body calls fields that it does not call as we do; see ``Decoded.names``.
    """
    try:
        yield
    except MlxpError as error:
        if error.param is not None:
            error.param = _called(error.param, names)
            if not re.search(rf"(?<![\w.]){re.escape(error.param)}(?![\w.])", error.message):
                error.message = f"{error.param}: {error.message}"
        raise


def _called(place: str, names: Mapping[str, str]) -> str:
    """Return what the client calls a field, or the field that a place is in."""
    ours = place if place in names else place.partition(".")[0].partition("[")[0]
    return names.get(ours, ours) + place.removeprefix(ours)


def last_words(encoder: Encoder, error: Exception, identity: str) -> bytes:
    """Log the exception, and return what ends the stream that it broke; ``b""`` if even that fails."""
    log.error("request %s: the stream broke", identity, exc_info=error)
    told = _generic(identity)
    try:
        return encoder.feed(Failed(told.code, told.message, told.status))
    except Exception:
        log.exception("request %s: the encoder could not say so", identity)
        return b""


def _ours(error: Exception, request: HttpRequest, body_limit_bytes: int) -> MlxpError:
    if isinstance(error, MlxpError):
        return error
    if isinstance(error, HTTPException) and error.status_code < 500:  # noqa: PLR2004  # client errors
        return _translate(error, request, body_limit_bytes)
    identity = request_id(request.scope)
    log.error("request %s: %s %s failed", identity, request.method, request.url.path, exc_info=error)
    return _generic(identity)


def _translate(error: HTTPException, request: HttpRequest, body_limit_bytes: int) -> MlxpError:
    headers = tuple((error.headers or {}).items())
    asked = f"{request.method} {request.url.path}"
    match error.status_code:
        case 401:
            return Unauthorized(error.detail, headers=headers)
        case 403:
            return Forbidden(error.detail, headers=headers)
        case 404:
            return NotFound(f"there is no {asked}; /schema/openapi.json lists every path")
        case 405:
            allowed = dict(headers).get("allow", "other methods")
            return MethodNotAllowed(f"{asked} is not allowed; this path takes {allowed}", headers=headers)
        case code if code == HTTP_413_REQUEST_ENTITY_TOO_LARGE:
            return TooLarge(f"the body is over the limit of {body_limit_bytes} bytes; send less at once")
        case _:
            return BadRequest(error.detail, headers=headers)


def _generic(identity: str) -> EngineFault:
    return EngineFault(
        f"something went wrong inside the server; its log has the cause under request {identity}"
    )


def _fixed_part(path: str) -> str:
    """Return a path up to its first parameter."""
    return path.split("{", 1)[0]
