"""The id under which one HTTP request appears in answers and logs: the client's own if it is decent, else a new one."""

import re
import uuid
from typing import Any

from litestar import Request
from litestar.datastructures import MutableScopeHeaders
from litestar.types import Message, Scope

HttpRequest = Request[Any, Any, Any]
"""A request; its user, auth and state are not ours."""

HEADER = "x-request-id"
SHOWN_AS = (HEADER, "request-id")
"""Names under which clients look for the id of an answer."""

STATE_KEY = "mlxp_request_id"
DECENT = re.compile(rb"[\x21-\x7e]{1,128}")


def request_id(scope: Scope) -> str:
    """Return the request's id, choosing it on the first call."""
    state = scope["state"]
    if STATE_KEY not in state:
        state[STATE_KEY] = _sent(scope) or f"req_{uuid.uuid4().hex}"
    return str(state[STATE_KEY])


async def show_request_id(message: Message, scope: Scope) -> None:
    """Put the id on every response; a hook before each message is sent."""
    if message["type"] == "http.response.start":
        headers = MutableScopeHeaders.from_message(message)
        for name in SHOWN_AS:
            headers[name] = request_id(scope)


def _sent(scope: Scope) -> str | None:
    for name, value in scope["headers"]:
        if name == HEADER.encode() and DECENT.fullmatch(value):
            return value.decode("ascii")
    return None
