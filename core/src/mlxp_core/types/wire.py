"""A request and a response as bytes, without any framework."""

from collections.abc import Mapping

from msgspec import Struct, field


class WireRequest(Struct, frozen=True, kw_only=True):
    """What came in; ``headers`` have lower-case names, ``params`` are the path's."""

    method: str = "POST"
    path: str = "/"
    params: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""


class WireResponse(Struct, frozen=True, kw_only=True):
    """What goes out, whole."""

    body: bytes
    status: int = 200
    media_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)
