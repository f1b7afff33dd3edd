"""Images by URL -> their bytes, from hosts that the operator allows, at public addresses only.

A server that fetches what strangers name can be made to ask its own network for them. So:

- Nothing is fetched unless ``[server] image_hosts`` allows the host; redirects, three at most, are held to the same.
- A name is resolved once, every address it has must be public, and the connection goes to the address that was
  checked, not to the name again.
- Whatever happens takes ten seconds and the bytes of one image at most. What came is told by its content later; an
  answer of any other kind is an image that cannot be read, and nothing of it is shown.
"""

import asyncio
import http.client
import io
import ipaddress
import socket
import ssl
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TypeVar, cast
from urllib.parse import SplitResult, quote, urljoin, urlsplit

from msgspec.structs import replace

from mlxp_core.errors import BadRequest
from mlxp_core.prompting import MOST_BYTES
from mlxp_core.types import ImageBytes, ImageUrl, Message, Part, PromptSource, Result

P = TypeVar("P", bound=PromptSource)
Resolve = Callable[[str], Awaitable[Sequence[str]]]
"""A host name -> its addresses."""

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]
Connect = Callable[[str, int, str | None], Awaitable[Streams]]
"""(address, port, name that the certificate must show or ``None`` for no TLS) -> a connection."""

MOST_REDIRECTS = 3
PATIENCE_S = 10.0
_PORTS = {"http": 80, "https": 443}
_REDIRECTS = (301, 302, 303, 307, 308)
_HEAD_BYTES = 2**20
"""Room for headers and the lengths of chunks, besides an image's bytes."""

_PIECE = 2**16
_AZURE = ipaddress.ip_address("168.63.129.16")
"""The one metadata service that has a public address."""

_TRANSLATED = ipaddress.ip_network("64:ff9b::/96")
"""IPv6 addresses that stand for IPv4 ones."""


async def resolve(host: str) -> Sequence[str]:
    """Ask the system's resolver."""
    found = await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return [str(entry[4][0]) for entry in found]


async def connect(address: str, port: int, tls_name: str | None) -> Streams:
    """Open a connection."""
    context = None if tls_name is None else ssl.create_default_context()
    return await asyncio.open_connection(address, port, ssl=context, server_hostname=tls_name)


class Fetcher:
    """Puts images in place of their addresses."""

    def __init__(
        self, hosts: Sequence[str], *, resolve: Resolve = resolve, connect: Connect = connect
    ) -> None:
        """Allow some hosts.

        Args:
            hosts: names; ``*.example.org`` = every host below it, ``*`` = every host.
            resolve: the resolver.
            connect: opens connections.
        """
        self._hosts = tuple(host.lower() for host in hosts)
        self._resolve = resolve
        self._connect = connect

    async def fill(self, prompt: P) -> P:
        """Return a prompt with every image in it.

        Raises:
            BadRequest: an image may not or cannot be fetched.
        """
        messages = [message for message in prompt if isinstance(message, Message)]
        urls = list(dict.fromkeys(url for message in messages for url in _urls(message.parts)))
        if not urls:
            return prompt
        if not self._hosts:
            raise BadRequest(
                "this server fetches no images; send them inside the request, as data: URLs, "
                "or have its operator allow hosts in [server] image_hosts",
                param="prompt",
            )
        images = dict(zip(urls, await asyncio.gather(*map(self.fetch, urls)), strict=True))
        return cast("P", tuple(_filled(message, images) for message in messages))

    async def fetch(self, url: str) -> ImageBytes:
        """Fetch one image.

        Raises:
            BadRequest: the host is not allowed, or the image does not come whole and in time.
        """
        shown = url if len(url) <= 100 else f"{url[:99]}…"  # noqa: PLR2004  # enough to know it again
        try:
            async with asyncio.timeout(PATIENCE_S):
                return ImageBytes(await self._follow(url))
        except TimeoutError as error:
            why = f"did not come within {PATIENCE_S:.0f} s"
            raise BadRequest(f"the image at {shown} {why}", param="prompt") from error
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise BadRequest(f"the image at {shown} cannot be fetched: {error}", param="prompt") from error

    async def _follow(self, url: str) -> bytes:
        for _ in range(1 + MOST_REDIRECTS):
            answer = await self._ask(urlsplit(url))
            if answer.status not in _REDIRECTS:
                return _body(answer)
            url = urljoin(url, answer.getheader("Location") or "")
        raise ValueError(f"more than {MOST_REDIRECTS} redirects")

    async def _ask(self, url: SplitResult) -> http.client.HTTPResponse:
        """Ask one server; ``ValueError`` where we must not."""
        host = (url.hostname or "").rstrip(".").encode("idna").decode("ascii").lower()
        if url.scheme not in _PORTS or not host or url.username is not None:
            raise ValueError("only http and https URLs without a password are followed")
        if not self._allows(host):
            raise ValueError(f"{host!r} is not among the hosts that this server fetches from")
        port = url.port or _PORTS[url.scheme]
        address = await self._address(host)
        reader, writer = await self._connect(address, port, host if url.scheme == "https" else None)
        try:
            writer.write(_question(url, host))
            return _answer(await _read(reader))
        finally:
            writer.transport.abort()  # nothing more is wanted, so nothing is waited for

    def _allows(self, host: str) -> bool:
        return any(
            allowed in ("*", host) or (allowed.startswith("*.") and host.endswith(allowed[1:]))
            for allowed in self._hosts
        )

    async def _address(self, host: str) -> str:
        """Return the first of a host's addresses, if all of them are public."""
        addresses = await self._resolve(host)
        for address in addresses:
            if not is_public(address):
                raise ValueError(f"{host!r} has an address in a private network")
        if not addresses:
            raise ValueError(f"{host!r} has no address")
        return addresses[0]


def is_public(address: str) -> bool:
    """Say whether an address is one of the public internet, and no way round to another."""
    found = ipaddress.ip_address(address)
    match found:
        case ipaddress.IPv6Address(ipv4_mapped=inner) if inner is not None:
            return is_public(str(inner))
        case ipaddress.IPv6Address() if found in _TRANSLATED:
            return is_public(str(ipaddress.IPv4Address(int(found) & 0xFFFFFFFF)))
        case ipaddress.IPv6Address() if found.sixtofour is not None or found.teredo is not None:
            return False
        case _:
            return found.is_global and not found.is_multicast and found != _AZURE


def _question(url: SplitResult, host: str) -> bytes:
    named = f"[{host}]" if ":" in host else host
    named = named if url.port is None else f"{named}:{url.port}"
    path = quote(url.path or "/", safe="/%:@!$&'()*+,;=~-._")
    query = quote(url.query, safe="/%:@!$&'()*+,;=~-._?")
    lines = (
        f"GET {path}{'?' if query else ''}{query} HTTP/1.1",
        f"Host: {named}",
        "Accept: image/*",
        "Accept-Encoding: identity",
        "User-Agent: mlxp",
        "Connection: close",
    )
    return "\r\n".join((*lines, "", "")).encode("ascii")


async def _read(reader: asyncio.StreamReader) -> bytes:
    """Read all that comes, up to what an image may have."""
    received = bytearray()
    while piece := await reader.read(_PIECE):
        received += piece
        if len(received) > MOST_BYTES + _HEAD_BYTES:
            raise ValueError(f"it has more than {MOST_BYTES} bytes")
    return bytes(received)


class _Received:
    """What came, as ``http.client`` reads it: a socket that has nothing but a file."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def makefile(self, _mode: str) -> io.BytesIO:
        return io.BytesIO(self._data)


def _answer(data: bytes) -> http.client.HTTPResponse:
    answer = http.client.HTTPResponse(_Received(data), method="GET")  # type: ignore[arg-type]  # all it asks of one
    answer.begin()
    return answer


def _body(answer: http.client.HTTPResponse) -> bytes:
    if answer.status != http.client.OK:
        raise ValueError(f"the server answered {answer.status}")
    return answer.read()


def _urls(parts: Sequence[Part]) -> list[str]:
    """Return the addresses among parts, in order."""
    urls: list[str] = []
    for part in parts:
        match part:
            case ImageUrl(url):
                urls.append(url)
            case Result(parts=inner):
                urls += _urls(inner)
            case _:
                continue
    return urls


def _filled(message: Message, images: Mapping[str, ImageBytes]) -> Message:
    parts: list[Part] = []
    for part in message.parts:
        match part:
            case Result(parts=inner):
                shown = tuple(images[piece.url] if isinstance(piece, ImageUrl) else piece for piece in inner)
                parts.append(replace(part, parts=shown))
            case ImageUrl(url):
                parts.append(images[url])
            case _:
                parts.append(part)
    return replace(message, parts=tuple(parts))
