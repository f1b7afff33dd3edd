"""Who may come in: the host they think they talk to, the page they come from, their API key.

1. A server on a loopback address is still reachable from any web page through DNS rebinding. So unless there are keys,
   which such a page does not have, the ``Host`` header must be an address, or a name of this machine.
2. A page from elsewhere may not send requests at all unless its origin is listed.
3. Keys, when there are any, guard every path, those that do not exist included; only health checks are open.
4. What touches other people's requests or the server itself (``admin``) takes a key or, where there are none, a client
   on this machine; and ``*`` lists no origin for it.
"""

import hmac
import ipaddress
from collections.abc import Mapping
from urllib.parse import urlsplit

from litestar.datastructures import Headers
from litestar.enums import ScopeType
from litestar.middleware import ASGIMiddleware
from litestar.types import ASGIApp, Receive, Scope, Send
from msgspec import Struct

from mlxp_core.contracts import ACCESS
from mlxp_core.errors import Forbidden, SetupError, Unauthorized
from mlxp_core.types import ServerSettings

LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
SAFE_METHODS = frozenset({"GET", "HEAD"})


class Visit(Struct, frozen=True, kw_only=True):
    """What is known of a request before anything is done for it.

    Attributes:
        method: of the request; ``WEBSOCKET`` for a socket.
        headers: asked for lower-case names.
        access: what its path takes; anything but ``open`` and ``key`` counts as ``admin``.
        client: address of the other end, as text.
    """

    method: str = "GET"
    headers: Mapping[str, str]
    access: str = "key"
    client: str = ""


class Guard:
    """The rules of one server."""

    def __init__(self, settings: ServerSettings) -> None:
        """Read the rules from the settings.

        Raises:
            SetupError: a key that no header can carry, or an origin that no browser would send.
        """
        self._keys = [_checked_key(key, place) for place, key in enumerate(settings.api_keys)]
        origins = frozenset(_checked_origin(origin) for origin in settings.cors_origins)
        self._origins = origins - {"*"}
        self._any_origin = "*" in origins
        self._named = frozenset(host.lower() for host in settings.allowed_hosts)
        self._own = LOOPBACK_NAMES | self._named | {settings.host.lower()}
        self._loopback = is_loopback(settings.host)

    def check(self, visit: Visit) -> None:
        """Let a request in, or refuse it.

        Raises:
            Forbidden: a host, an origin or an address that is not let in.
            Unauthorized: there are keys, and it carries none of them.
        """
        admin = visit.access not in {"open", "key"}
        host, origin = visit.headers.get("host"), visit.headers.get("origin")
        self._check_host(host)
        if origin is not None and (admin or visit.method not in SAFE_METHODS):
            self._check_origin(origin, host, any_origin=self._any_origin and not admin)
        if self._keys and visit.access != "open":
            self._check_key(visit.headers)
        elif admin and not is_loopback(visit.client):
            raise Forbidden(
                "this path touches more than your own request, and the server has no API key to know you by; ask from "
                "the server's own machine, or set MLXP_SERVER_API_KEYS"
            )

    def _check_host(self, host: str | None) -> None:
        if host is None:
            return
        name = _name_of(f"//{host}")
        if name in self._own:
            return
        if self._named or self._loopback or not (self._keys or _is_address(name)):
            raise Forbidden(
                f"the Host header {host!r} does not name this server; call it by its own address, or add the name "
                "to [server] allowed_hosts"
            )

    def _check_origin(self, origin: str, host: str | None, *, any_origin: bool) -> None:
        if any_origin or origin.lower() in self._origins:
            return
        name = _name_of(origin)
        ours = self._own if self._loopback else self._own | {_name_of(f"//{host}")}
        if name is None or name not in ours:
            raise Forbidden(
                f"pages of {origin} may not call this; add the origin by name to [server] cors_origins to allow it"
            )

    def _check_key(self, headers: Mapping[str, str]) -> None:
        scheme, _, token = headers.get("authorization", "").partition(" ")
        bearer = token.strip() if scheme.lower() == "bearer" else ""
        given = [text.encode() for text in (bearer, headers.get("x-api-key", ""))]
        matches = [hmac.compare_digest(one, key) for one in given for key in self._keys]
        if not any(matches):
            raise Unauthorized(
                "the API key is missing or wrong; send it as 'Authorization: Bearer KEY' or 'x-api-key: KEY'",
                headers=(("www-authenticate", "Bearer"),),
            )


class Access(ASGIMiddleware):
    """Puts a guard before every route, a plugin's own included."""

    scopes = (ScopeType.HTTP, ScopeType.WEBSOCKET)

    def __init__(self, guard: Guard) -> None:
        """Guard with these rules."""
        self._guard = guard

    async def handle(self, scope: Scope, receive: Receive, send: Send, next_app: ASGIApp) -> None:
        """Check, then pass on."""
        self._guard.check(visit_of(scope))
        await next_app(scope, receive, send)


def visit_of(scope: Scope) -> Visit:
    """Return what a connection's scope tells; a path that leads nowhere takes a key."""
    routed = scope.get("route_handler")
    client = scope["client"]
    return Visit(
        method=scope["method"] if scope["type"] == ScopeType.HTTP else "WEBSOCKET",
        headers=Headers.from_scope(scope),
        access="key" if routed is None else str(routed.opt.get(ACCESS, "key")),
        client=client[0] if client else "",
    )


def check_exposure(settings: ServerSettings) -> None:
    """Refuse to open a server to others without a key.

    Raises:
        SetupError: says how to go on.
    """
    if is_loopback(settings.host) or settings.api_keys or settings.insecure_public:
        return
    raise SetupError(
        f"others can reach {settings.host or 'every address'}, and no API key is set; set MLXP_SERVER_API_KEYS, "
        "bind 127.0.0.1, or say --insecure-public if the network is yours"
    )


def is_loopback(host: str) -> bool:
    """Say whether only this machine can reach the address, or have it."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host.lower() == "localhost"
    mapped = address.ipv4_mapped if address.version == 6 else None  # noqa: PLR2004  # ::ffff:127.0.0.1
    return (mapped or address).is_loopback


def _is_address(name: str | None) -> bool:
    """Say whether a host is called by its number, which nobody can rebind."""
    try:
        ipaddress.ip_address(name or "")
    except ValueError:
        return False
    return True


def _name_of(url: str) -> str | None:
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None


def _checked_key(key: str, place: int) -> bytes:
    if not key or not all("!" <= char <= "~" for char in key):
        raise SetupError(
            f"[server] api_keys: key {place + 1} is empty or holds characters that no header can carry; use printable "
            "ASCII without spaces"
        )
    return key.encode()


def _checked_origin(origin: str) -> str:
    plain = origin.rstrip("/").lower()
    parts = urlsplit(plain)
    if plain not in {"*", "null"} and (not parts.scheme or not parts.netloc or parts.path or "*" in plain):
        raise SetupError(
            f"[server] cors_origins: {origin!r} is no origin; write scheme://host:port, or * for all"
        )
    return plain
