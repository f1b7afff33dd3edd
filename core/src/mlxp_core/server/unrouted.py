"""Paths that lead nowhere are guarded like all others: what is not there is told to those only who may come in."""

from typing import Any

from litestar import Response
from litestar.exceptions import HTTPException, MethodNotAllowedException, NotFoundException

from mlxp_core.errors import MlxpError
from mlxp_core.server.access import Guard, visit_of
from mlxp_core.server.errors import Handlers
from mlxp_core.server.request_id import HttpRequest


def unrouted(guard: Guard, handlers: Handlers) -> Handlers:
    """Return exception handlers that ask the guard before they say that a path or method does not exist.

    Routing comes before middleware, so nobody has asked it yet.

    Args:
        guard: the rules.
        handlers: what answers errors, refusals included.
    """

    def handle(request: HttpRequest, error: HTTPException) -> Response[Any]:
        if request.scope.get("route_handler") is None:
            try:
                guard.check(visit_of(request.scope))
            except MlxpError as refusal:
                return handlers[MlxpError](request, refusal)
        return handlers[HTTPException](request, error)

    return {**handlers, NotFoundException: handle, MethodNotAllowedException: handle}
