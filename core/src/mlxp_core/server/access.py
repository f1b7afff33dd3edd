"""Who may come in: the host they think they talk to, the page they come from, their API key.

A server on a loopback address is still reachable from any web page through DNS rebinding, so the ``Host`` header must
name this machine; and a page from elsewhere may not send requests at all unless its origin is listed. Keys, when
there are any, guard every route but the health check.
"""

import hmac
import ipaddress
from collections.abc import Mapping
from urllib.parse import urlsplit

from litestar.config.cors import CORSConfig
from litestar.datastructures import Headers
from litestar.enums import ScopeType
from litestar.middleware import ASGIMiddleware
from litestar.types import ASGIApp, Receive, Scope, Send

from mlxp_core.errors import Forbidden, SetupError, Unauthorized
from mlxp_core.types import ServerSettings

LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
OPEN_PATHS = frozenset({"/health", "/livez"})
SAFE_METHODS = frozenset({"GET", "HEAD"})


class Guard:
    """The rules of one server."""

    def __init__(self, settings: ServerSettings) -> None:
        """Read the rules from the settings."""
        self._keys = [key.encode() for key in settings.api_keys]
        self._origins = frozenset(origin.rstrip("/").lower() for origin in settings.cors_origins)
        self._any_origin = "*" in self._origins
        named = frozenset(host.lower() for host in settings.allowed_hosts)
        checks_host = is_loopback(settings.host) or named
        self._hosts = LOOPBACK_NAMES | named | {settings.host.lower()} if checks_host else None

    def check(self, method: str, path: str, headers: Mapping[str, str]) -> None:
        """Let a request in, or refuse it.

        Args:
            method: of the request.
            path: of the request.
            headers: of the request; asked for lower-case names.

        Raises:
            Forbidden: a host or an origin that is not listed.
            Unauthorized: there are keys, and it carries none of them.
        """
        self._check_host(headers.get("host"))
        if method not in SAFE_METHODS:
            self._check_origin(headers.get("origin"), headers.get("host"))
        if self._keys and path not in OPEN_PATHS:
            self._check_key(headers)

    def _check_host(self, host: str | None) -> None:
        if host is None or self._hosts is None:
            return
        if _name_of(f"//{host}") not in self._hosts:
            raise Forbidden(
                f"the Host header {host!r} does not name this server; call it by its own address, or add the name "
                "to [server] allowed_hosts"
            )

    def _check_origin(self, origin: str | None, host: str | None) -> None:
        if origin is None or self._any_origin or origin.rstrip("/").lower() in self._origins:
            return
        name = _name_of(origin)
        if name is None or name not in (self._hosts or {_name_of(f"//{host}")}):
            raise Forbidden(
                f"pages of {origin} may not call this server; add the origin to [server] cors_origins to allow it"
            )

    def _check_key(self, headers: Mapping[str, str]) -> None:
        scheme, _, token = headers.get("authorization", "").partition(" ")
        given = token.strip() if scheme.lower() == "bearer" else headers.get("x-api-key", "")
        matches = [hmac.compare_digest(given.encode(), key) for key in self._keys]
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
        method = scope["method"] if scope["type"] == ScopeType.HTTP else "WEBSOCKET"
        self._guard.check(method, scope["path"], Headers.from_scope(scope))
        await next_app(scope, receive, send)


def cors(settings: ServerSettings) -> CORSConfig | None:
    """Return what browsers are told about other origins; nothing, unless some are listed."""
    if not settings.cors_origins:
        return None
    return CORSConfig(
        allow_origins=[origin.rstrip("/") for origin in settings.cors_origins],
        expose_headers=["x-request-id", "x-mlxp-warnings", "retry-after"],
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
    """Say whether only this machine can reach the address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def _name_of(url: str) -> str | None:
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None
