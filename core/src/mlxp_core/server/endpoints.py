"""An endpoint, an exchange or a query of a protocol, made into a handler."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from typing import Any, TypeVar

from litestar.exceptions import InternalServerException
from litestar.handlers import HTTPRouteHandler
from litestar.types import ASGIApp, Method
from msgspec.structs import replace

from mlxp_core.contracts import ACCESS, Decoded, Endpoint, Exchange, Exchanged, Query, WireProtocol
from mlxp_core.desk import Desk
from mlxp_core.errors import BadRequest
from mlxp_core.server.clerk import Clerk, wants_transcript
from mlxp_core.server.errors import ClientLeft, by_the_names_of, respond
from mlxp_core.server.request_id import HEADER, HttpRequest, request_id
from mlxp_core.server.streaming import Chunks, EventStream, unless_left
from mlxp_core.types import ServerSettings, WireRequest, WireResponse

WARNINGS_HEADER = "x-mlxp-warnings"
LONGEST_WARNING = 2000
DECODED_AT_ONCE = 256 * 1024  # bytes of a body that are decoded on the event loop; longer ones go to a thread

D = TypeVar("D", Decoded, Exchanged[Any])
Handler = Callable[[HttpRequest], Awaitable[ASGIApp]]


def handlers(
    protocol: WireProtocol, desk: Desk, clerk: Clerk, settings: ServerSettings
) -> list[HTTPRouteHandler]:
    """Return a handler for every path of a protocol."""
    return [_route(protocol, endpoint, desk, clerk, settings) for endpoint in protocol.endpoints]


def _route(
    protocol: WireProtocol,
    endpoint: Endpoint | Exchange | Query,
    desk: Desk,
    clerk: Clerk,
    settings: ServerSettings,
) -> HTTPRouteHandler:
    methods: list[Method] = ["GET", "HEAD"] if endpoint.method == "GET" else [endpoint.method]
    match endpoint:
        case Endpoint():
            handler = _generating(protocol, endpoint, desk, clerk, settings)
        case Exchange():
            handler = _exchanging(protocol, endpoint, desk, settings)
        case Query():
            handler = _answering(endpoint, desk)
    return HTTPRouteHandler(
        endpoint.path,
        http_method=methods,
        status_code=200,
        include_in_schema=False,
        opt={ACCESS: endpoint.access},
    )(handler)


def _answering(query: Query, desk: Desk) -> Handler:
    async def answer(request: HttpRequest) -> ASGIApp:
        return respond(query.answer(await _read(request), desk)).to_asgi_response(app=None, request=request)

    return answer


def _exchanging(protocol: WireProtocol, exchange: Exchange, desk: Desk, settings: ServerSettings) -> Handler:
    async def answer(request: HttpRequest) -> ASGIApp:
        asked = await _decode(exchange.decode, await _read(request))
        headers = _warning_headers(asked.warnings, strict=settings.strict)
        with by_the_names_of(asked.names):
            given = await unless_left(request.receive, desk.answer(asked.question, protocol=protocol.name))
        said: WireResponse = asked.render(given)
        told = replace(said, headers={**said.headers, **headers})
        return respond(told).to_asgi_response(app=None, request=request)

    return answer


def _generating(
    protocol: WireProtocol, endpoint: Endpoint, desk: Desk, clerk: Clerk, settings: ServerSettings
) -> Handler:
    async def generate(request: HttpRequest) -> ASGIApp:
        wire = await _read(request)
        decoded = await _decode(endpoint.decode, wire)
        headers = _warning_headers(decoded.warnings, strict=settings.strict)
        identity = request_id(request.scope)

        async def open_answer() -> EventStream | WireResponse:
            with by_the_names_of(decoded.names):
                ticket = await desk.generate(decoded.request, protocol=protocol.name)
            clerk.note(ticket, wire, protocol.name)
            if wants_transcript(wire):
                return await clerk.tell(ticket, wire, protocol.name)
            encoder = decoded.encoder
            with ExitStack() as stack:
                listener = stack.enter_context(ticket.listen())
                chunks = Chunks(listener, encoder, settings.keep_alive_s)
                first = await chunks.next()
                if (failure := encoder.failure()) is not None:
                    return failure
                if not encoder.streaming:
                    return WireResponse(body=first, media_type=encoder.media_type, headers=headers)
                stack.pop_all()
                return EventStream(first, chunks, listener, encoder, identity, headers)

        answer = await unless_left(request.receive, open_answer())
        match answer:
            case WireResponse():
                return respond(answer).to_asgi_response(app=None, request=request)
            case _:
                return answer

    return generate


async def _read(request: HttpRequest) -> WireRequest:
    try:
        body = await request.body()
    except (
        InternalServerException
    ) as error:  # how Litestar says that the client closed before its body was here
        raise ClientLeft from error
    return WireRequest(
        method=request.method,
        path=request.url.path,
        params={name: str(value) for name, value in request.path_params.items()},
        query={name: str(value) for name, value in request.query_params.items()},
        headers={**dict(request.headers.items()), HEADER: request_id(request.scope)},
        body=body,
    )


async def _decode(decode: Callable[[WireRequest], D], request: WireRequest) -> D:
    if len(request.body) <= DECODED_AT_ONCE:
        return decode(request)
    return await asyncio.to_thread(decode, request)


def _warning_headers(warnings: tuple[str, ...], *, strict: bool) -> dict[str, str]:
    """Return the header that tells what was ignored.

    Raises:
        BadRequest: something was, and the server is strict.
    """
    if not warnings:
        return {}
    told = "; ".join(warnings)
    if strict:
        raise BadRequest(f"this server is strict, and these fields have no effect here: {told}")
    printable = "".join(char if " " <= char <= "~" else "?" for char in told)
    return {
        WARNINGS_HEADER: printable[:LONGEST_WARNING].strip()
    }  # a header's value neither begins nor ends blank
