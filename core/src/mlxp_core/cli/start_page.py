"""The start page in a browser, where a plugin brings one and somebody sits before this machine."""

import sys
import threading
import webbrowser
from collections.abc import Mapping, Sequence
from typing import Protocol, TextIO


class Routed(Protocol):
    """A route of an application."""

    @property
    def path(self) -> str:
        """Return its path."""
        ...


class Application(Protocol):
    """What answers; its routes are all that is looked at."""

    @property
    def routes(self) -> Sequence[Routed]:
        """Return all of them."""
        ...


def has_start_page(app: Application) -> bool:
    """Say whether something answers at ``/``."""
    return any(route.path == "/" for route in app.routes)


def wanted(
    asked: bool | None, environ: Mapping[str, str], output: TextIO, platform: str = sys.platform
) -> bool:
    """Say whether to open a browser.

    Args:
        asked: what the command line says; ``None`` = whether somebody sits before this machine: at a terminal, not
            through a remote shell, and with a screen.
        environ: the environment.
        output: where the command prints.
        platform: as ``sys.platform``.
    """
    if asked is not None:
        return asked
    screen = platform in {"darwin", "win32"} or any(
        environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY")
    )
    remote = any(environ.get(name) for name in ("SSH_CONNECTION", "CI"))
    return output.isatty() and screen and not remote


def open_start_page(url: str) -> None:
    """Open it on a thread of its own; some browsers keep their caller waiting."""
    threading.Thread(target=webbrowser.open, args=(f"{url}/",), daemon=True).start()
