"""The server that a client is started against: one that answers already, or one started for it."""

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPException
from pathlib import Path
from typing import TypeVar
from urllib.error import HTTPError, URLError
from urllib.request import ProxyHandler, Request, build_opener

import msgspec
from msgspec import Raw, Struct

from mlxp_core.errors import SetupError

ANSWER_S = 10.0
LOOK_EVERY_S = 0.2
STOP_S = 20.0

T = TypeVar("T", bound=Struct | Raw)


class Listed(Struct, frozen=True):
    """A model as ``GET /v1/models`` lists it, as far as clients need to know."""

    id: str
    context_window: int
    reasoning: bool
    vision: bool


class Models(Struct, frozen=True):
    """The list; the default model comes first."""

    data: tuple[Listed, ...]


class Card(Struct, frozen=True):
    """What ``GET /v1`` says of endpoints."""

    endpoints: tuple[str, ...]


class Reached(Struct, frozen=True):
    """A server that answers."""

    url: str
    models: tuple[Listed, ...]
    endpoints: tuple[str, ...]


def reach(url: str, key: str | None) -> Reached | None:
    """Return what a server says of itself; ``None`` if nothing answers there.

    Args:
        url: without a path.
        key: an API key, if it may want one.

    Raises:
        SetupError: something answers, but not as one of our servers, or it wants another key.
    """
    card = ask(f"{url}/v1", key, Card)
    if card is None:
        return None
    models = ask(f"{url}/v1/models", key, Models)
    if models is None or not models.data:
        raise SetupError(f"the server at {url} offers no model; start it with one")
    return Reached(url, models.data, card.endpoints)


@contextmanager
def started(model: str, config: str | None, log: Path) -> Iterator[str]:
    """Run ``mlxp serve`` on a free port of this machine for as long as the block lasts; yields its address.

    Args:
        model: as the command takes it.
        config: the settings file, if one is named.
        log: file for what it says.

    Raises:
        SetupError: it ended before it was ready; with its last words.
    """
    url = f"http://127.0.0.1:{(port := _free_port())}"
    command = [sys.executable, "-c", "from mlxp_core.cli.main import run; run()", "serve", model]
    command += ["--config", config] if config else []
    with log.open("wb") as said:
        server = subprocess.Popen(  # noqa: S603  # ours
            [*command, "--host", "127.0.0.1", "--port", str(port)],
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=said,
            start_new_session=True,  # Ctrl-C in the terminal is the client's
        )
    try:
        while not _is_ready(url):
            if server.poll() is not None:
                lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
                raise SetupError(f"the server for {model} did not start: {lines[-1] if lines else 'no word'}")
            time.sleep(LOOK_EVERY_S)
        yield url
    finally:
        server.terminate()
        try:
            server.wait(STOP_S)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def ask(url: str, key: str | None, shape: type[T]) -> T | None:
    """Return what a server answers to ``GET``, as far as ``shape`` has it; ``None`` if nothing answers.

    Raises:
        SetupError: something answers, but not as one of our servers, or it wants another key.
    """
    try:
        body = _get(url, key)
    except HTTPError as error:
        hint = "; the key comes from [server] api_keys or --key" if error.code in {401, 403} else ""
        raise SetupError(f"{url} answers {error.code} {error.reason}{hint}") from error
    except (URLError, HTTPException, OSError):
        return None
    try:
        return msgspec.json.decode(body, type=shape)
    except msgspec.DecodeError as error:
        raise SetupError(f"what answers at {url} is no mlxp server: {error}") from error


def _is_ready(url: str) -> bool:
    try:
        _get(f"{url}/health", None)
    except (URLError, HTTPException, OSError):
        return False
    return True


def _get(url: str, key: str | None) -> bytes:
    headers = {} if key is None else {"authorization": f"Bearer {key}"}
    direct = build_opener(ProxyHandler({}))  # no proxy stands before one's own server
    try:
        with direct.open(Request(url, headers=headers), timeout=ANSWER_S) as answer:  # noqa: S310  # the user's own address
            body: bytes = answer.read()
    except HTTPError as error:
        error.close()  # it holds the connection
        raise
    return body


def _free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port: int = sock.getsockname()[1]
    return port
