"""uvicorn, from a bound socket to the last answer."""

import asyncio
import os
import signal
import socket
import sys
from collections.abc import Callable
from types import FrameType

import uvicorn
from litestar import Litestar

from mlxp_core.desk import Desk
from mlxp_core.errors import SetupError, Unavailable
from mlxp_core.server.connection import patient_for
from mlxp_core.server.lifespan import settled
from mlxp_core.types import EngineSettings, EngineStats, ServerSettings

BACKLOG = 2048
IDLE_CONNECTION_S = 60
LAST_BYTES_S = 5
"""How long cancelled answers may take to reach their clients once the grace is over."""


def bind(settings: ServerSettings) -> socket.socket:
    """Return a listening socket, so that a taken port is known before any weights are read.

    Connections made from now on wait until the server runs.

    Raises:
        SetupError: the port is taken, or the address is none of this machine's.
    """
    host, port = settings.host, settings.port
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        sock = socket.socket(family, kind, protocol)
    except OSError as error:
        raise SetupError(
            f"the address {host!r} cannot be used: {error.strerror or error}; see --host"
        ) from error
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind(address)
        sock.listen(BACKLOG)
    except OSError as error:
        sock.close()
        raise SetupError(
            f"port {port} of {host} cannot be bound: {error.strerror}; stop what uses it, or choose another with --port"
        ) from error
    return sock


class Server(uvicorn.Server):
    """uvicorn with our way of stopping: running answers get a grace, then a proper last event; twice is at once.

    Attributes:
        lost: the state of the engine that the server stopped for; ``None`` = it stopped for something else.
    """

    def __init__(
        self,
        app: Litestar,
        desk: Desk,
        settings: ServerSettings,
        *,
        loaded: Callable[[EngineStats], object] = lambda _: None,
    ) -> None:
        """Make a server.

        Args:
            app: the application.
            desk: the same that is in it.
            settings: for the grace, and the patience with clients.
            loaded: told the engine's state when loading is over; if it is ``lost``, the server stops by itself. Once
                it was ready, it stops for that only if the settings want it (``on_death``).
        """
        super().__init__(
            uvicorn.Config(
                app,
                http=patient_for(settings.stall_s),
                log_config=None,
                access_log=False,
                lifespan="on",
                ws="none",
                proxy_headers=False,
                server_header=False,
                backlog=BACKLOG,
                timeout_keep_alive=IDLE_CONNECTION_S,
                timeout_graceful_shutdown=round(settings.grace_s) + LAST_BYTES_S,
            )
        )
        self.lost: EngineStats | None = None
        self._desk = desk
        self._stays = desk.settings.section(EngineSettings).on_death == "stay"
        self._grace_s = settings.grace_s
        self._loaded = loaded
        self._watch: asyncio.Task[None] | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, and watch the weights load."""
        await super().startup(sockets)
        self._watch = asyncio.create_task(self._until_loaded())

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop accepting, wait for answers under way, then cancel what is left of them."""
        drain = asyncio.create_task(self._desk.drain(self._grace_s))
        await super().shutdown(sockets)
        drain.cancel()
        if self._watch is not None:
            self._watch.cancel()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002  # the signature of a handler
        """Stop at the first signal; leave at once at the second."""
        if self.should_exit:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(128 + signal.Signals(sig))
        self.should_exit = True

    async def on_tick(self, counter: int) -> bool:
        """Do what is done several times a second; true = stop."""
        if not self._stays and self.lost is None and not self.should_exit:
            self._leave_if_lost(self._desk.stats())
        return await super().on_tick(counter)

    async def _until_loaded(self) -> None:
        stats = await settled(self._desk)
        self._loaded(stats)
        self._leave_if_lost(stats)

    def _leave_if_lost(self, stats: EngineStats) -> None:
        if stats.state == "lost":
            self.lost, self.should_exit = stats, True


def serve(
    app: Litestar,
    desk: Desk,
    settings: ServerSettings,
    sock: socket.socket,
    *,
    loaded: Callable[[EngineStats], object] = lambda _: None,
) -> None:
    """Serve until a signal says stop.

    Args:
        app: the application.
        desk: the same that is in it.
        settings: of the server.
        sock: where it listens.
        loaded: told the engine's state when loading is over.

    Raises:
        Unavailable: the engine was lost: it could not load its model, or has died and is not to stay so.
    """
    server = Server(app, desk, settings, loaded=loaded)
    server.run(sockets=[sock])
    if server.lost is not None:
        raise Unavailable(server.lost.fault or "the engine has stopped by itself")
