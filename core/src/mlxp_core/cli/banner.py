"""What ``mlxp serve`` says when it is ready: the model, the address, what can be asked, and how to ask."""

import socket
from collections.abc import Iterable, Mapping

from mlxp_core import __version__
from mlxp_core.contracts import WireProtocol
from mlxp_core.types import Fit, ServerSettings

CHAT = "/v1/chat/completions"
QUESTION = '{"messages": [{"role": "user", "content": "Hello"}]}'
EVERYWHERE = frozenset({"", "0.0.0.0", "::"})  # noqa: S104  # compared with, not bound


def banner(model: str, url: str, protocols: Mapping[str, WireProtocol], settings: ServerSettings) -> str:
    """Return the lines to print.

    Args:
        model: the model's name.
        url: where the server answers.
        protocols: those that are on, by name.
        settings: of the server.
    """
    return "\n".join(
        [
            f"mlxp {__version__} serves {model} at {url}",
            f"protocols: {', '.join(protocols) or 'none'}",
            f"try: {_example(url, protocols.values(), keyed=bool(settings.api_keys))}",
        ]
    )


def speed(fit: Fit | None) -> str | None:
    """Return a line on how fast a model is: as measured, if it was, and as predicted; ``None`` = nobody knows."""
    if fit is None:
        return None
    told = [
        f"{value:.1f} tokens per second {how}"
        for value, how in (
            (fit.measured_decode_tps, "measured"),
            (fit.report.predicted_decode_tps, "predicted"),
        )
        if value is not None
    ]
    return f"speed of {fit.model}: {', '.join(told)} (one answer)" if told else None


def address(host: str, sock: socket.socket) -> str:
    """Return the URL of a listening socket, with a host that a browser can open."""
    return url_of(host, sock.getsockname()[1])


def url_of(host: str, port: int) -> str:
    """Return the URL of a server that is bound so, with a host that can be called."""
    name = "127.0.0.1" if host in EVERYWHERE else host
    return f"http://[{name}]:{port}" if ":" in name else f"http://{name}:{port}"


def _example(url: str, protocols: Iterable[WireProtocol], *, keyed: bool) -> str:
    paths = {endpoint.path for protocol in protocols for endpoint in protocol.endpoints}
    key = ' -H "authorization: Bearer $KEY"' if keyed else ""
    if CHAT in paths:
        return f"curl {url}{CHAT}{key} -H 'content-type: application/json' -d '{QUESTION}'"
    return f"curl {url}/v1{key}"
