"""What an operation may be answered with, as OpenAPI says it: its answer, and each error with its status and shape."""

import inspect
from typing import Any

from mlxp_core.contracts import Endpoint, Exchange, Query, WireProtocol
from mlxp_core.errors import (
    BadRequest,
    Busy,
    EngineFault,
    Forbidden,
    MlxpError,
    TooLarge,
    Unauthorized,
    Unavailable,
    UnknownModel,
)
from mlxp_core.server.schemas import Schemas

Responses = dict[str, Any]
"""Status -> a response object; JSON leaves here."""

ANYWHERE: tuple[type[MlxpError], ...] = (Unauthorized, Forbidden, TooLarge, EngineFault)
"""What may become of any request."""

OF_WORK: tuple[type[MlxpError], ...] = (BadRequest, UnknownModel, Busy, Unavailable)
"""What may become of one that has a body and wants a model, besides."""

JSON = "application/json"
STREAM: Responses = {"text/event-stream": {}}
"""Each protocol has events of its own; OpenAPI 3.1 has no schema for a sequence."""


def responses(protocol: WireProtocol, endpoint: Endpoint | Exchange | Query, schemas: Schemas) -> Responses:
    """Return the responses of an operation.

    Args:
        protocol: whose it is; asked how it renders each error.
        endpoint: the operation.
        schemas: where types are described.
    """
    answer: Responses = {JSON: {"schema": schemas.of(endpoint.returns)}}
    match endpoint:
        case Endpoint():
            kinds = (*ANYWHERE, *OF_WORK)
            told = {"200": {"description": "The answer", "content": {**answer, **STREAM}}}
        case Exchange(raises=raises):
            kinds = (*ANYWHERE, *OF_WORK, *raises)
            told = {"200": {"description": "The answer", "content": answer}}
        case Query(raises=raises, statuses=statuses):
            kinds = (*ANYWHERE, *raises)
            told = {
                str(status): {"description": "The answer", "content": answer} for status in (200, *statuses)
            }
    return {**_errors(protocol, kinds, schemas), **told}


def _errors(protocol: WireProtocol, kinds: tuple[type[MlxpError], ...], schemas: Schemas) -> Responses:
    """Return an entry for each status that the protocol gives these errors."""
    words: dict[int, list[str]] = {}
    for kind in kinds:
        words.setdefault(protocol.render_error(kind("")).status, []).append(_first_line(kind))
    content = {JSON: {"schema": schemas.of(protocol.error)}} if protocol.error is not None else {}
    return {
        str(status): {"description": " ".join(said), **({"content": content} if content else {})}
        for status, said in sorted(words.items())
    }


def _first_line(kind: type[MlxpError]) -> str:
    return (inspect.getdoc(kind) or kind.code).partition("\n")[0]
