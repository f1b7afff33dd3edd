"""A real server on a free port with a scripted engine behind it, and a client to ask it.

Everything between the socket and the engine is what users get: uvicorn, the application, the desk, the protocols, a
tokenizer, a template and readers. Only the arrays are missing.
"""

import asyncio
import json
import socket
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from typing import Generic, TypeVar

import httpx

from mlxp_core import hookimpl
from mlxp_core.contracts import WireProtocol
from mlxp_core.desk import Desk, EngineFace, keeper
from mlxp_core.engine import Order
from mlxp_core.loading.sketch_tokenizer import END, TURN_END, sketch_tokenizer, sketch_tokenizer_config
from mlxp_core.memory import Account, Footprint, MemoryPlan, Reckon
from mlxp_core.memory.footprint import Slots
from mlxp_core.plugins import Registry, build_registry, load_plugins, load_settings
from mlxp_core.prompting import ChatTemplate, Prompt, Tokenizer, prepare
from mlxp_core.reading import Reader
from mlxp_core.server import Server, bind, build_app
from mlxp_core.testing.engine import Piece, ScriptedEngine
from mlxp_core.types import (
    Capabilities,
    EngineSettings,
    GenerateRequest,
    Machine,
    ModelInfo,
    PluginSettings,
    Pooling,
    ServerSettings,
)

T = TypeVar("T")
E = TypeVar("E", bound=EngineFace)

PATIENCE_S = 20.0
"""How long anything may take before a test has failed."""

Flags = Mapping[str, Mapping[str, object]]
"""Section -> key -> value, as the command line would give them."""

Script = Iterable[Piece] | Callable[[Order], Iterable[Piece]]

SKETCH = ModelInfo(
    id="sketch",
    path=Path("sketch"),
    family="sketch",
    context=512,
    vocabulary=384,
    weight_bytes=0,
    capabilities=Capabilities(tools=True, thinking=True),
)
"""The model that everybody asks here."""


class SketchFrontend:
    """A model's half without arrays, on the tokenizer and the template of the sketch."""

    def __init__(self, info: ModelInfo = SKETCH) -> None:
        """Stand for the model ``info``."""
        self.info = info
        self.pooling: Pooling | None = "weighted_mean" if info.capabilities.embeddings else None
        self.tokenizer = Tokenizer(
            json.dumps(sketch_tokenizer()).encode(),
            size=info.vocabulary,
            end_tokens=frozenset({END, TURN_END}),
        )
        names = {name: text for name, text in sketch_tokenizer_config().items() if isinstance(text, str)}
        source = files("mlxp_core.loading").joinpath("sketch.jinja").read_text("utf-8")
        self._template = ChatTemplate(source, tokens=names)

    def prepare(self, request: GenerateRequest) -> Prompt:
        """Render and tokenize."""
        return prepare(request, template=self._template, tokenizer=self.tokenizer)

    def thought(self, request: GenerateRequest, prompt: Prompt) -> None:  # plain text has none
        """Return that there is nothing to know of thinking."""

    def reader(self, request: GenerateRequest, prompt: Prompt, choice: int) -> Reader:
        """Return a reader of plain text."""
        return Reader(
            request,
            table=self.tokenizer,
            end_tokens=self.tokenizer.end_tokens,
            inside_thinking=prompt.inside_thinking,
            choice=choice,
        )


class Served(Generic[E]):
    """A running server, on a thread of its own.

    Attributes:
        url: where it listens.
        client: asks it.
        desk: its desk; use it by ``call``.
        engine: its engine; use a scripted one by ``call``.
    """

    def __init__(self, server: Server, sock: socket.socket, desk: Desk, engine: E) -> None:
        """Hold what belongs together; nothing runs yet."""
        self.desk = desk
        self.engine = engine
        self.url = f"http://127.0.0.1:{sock.getsockname()[1]}"
        self.client = httpx.Client(base_url=self.url, timeout=PATIENCE_S)
        self._server = server
        self._loop: asyncio.AbstractEventLoop | None = None
        self._up = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve(sock)), name="served")

    async def _serve(self, sock: socket.socket) -> None:
        self._loop = asyncio.get_running_loop()
        self._up.set()
        await self._server.serve(sockets=[sock])

    def start(self) -> None:
        """Start; connections made from now on are answered."""
        self._thread.start()
        assert self._up.wait(PATIENCE_S), "the server's thread did not start"

    def call(self, work: Callable[[], T]) -> T:
        """Run ``work`` on the event-loop thread, and return what it returns."""
        assert self._loop is not None, "the server has not been started"
        answer: Future[T] = Future()
        self._loop.call_soon_threadsafe(lambda: answer.set_result(work()))
        return answer.result(PATIENCE_S)

    def ask_to_stop(self) -> None:
        """Do what a signal does; returns at once."""
        self._server.should_exit = True

    def join(self) -> None:
        """Wait until the server has stopped."""
        self._thread.join(PATIENCE_S)
        assert not self._thread.is_alive(), "the server did not stop"


@contextmanager
def running(registry: Registry, desk: Desk, engine: E, settings: ServerSettings) -> Iterator[Served[E]]:
    """Run a server around a desk and its engine for as long as the block lasts."""
    with bind(settings) as sock:
        served = Served(Server(build_app(registry, desk, settings), desk, settings), sock, desk, engine)
        served.start()
        try:
            with served.client:
                yield served
        finally:
            served.ask_to_stop()
            served.join()


def on_a_free_port(flags: Flags | None) -> Flags:
    """Return the flags with a free port in place of the usual one, unless they name another."""
    given = flags or {}
    return {**given, "server": {"port": 0, **given.get("server", {})}}


@contextmanager
def serve(
    protocols: Sequence[WireProtocol],
    script: Script = (),
    *,
    flags: Flags | None = None,
    models: Sequence[ModelInfo] = (SKETCH,),
    plugins: Sequence[tuple[str, object]] = (),
    loading: bool = False,
) -> Iterator[Served[ScriptedEngine]]:
    """Serve protocols for as long as the block lasts.

    Args:
        protocols: API surfaces.
        script: what the engine says; see ``ScriptedEngine``.
        flags: settings.
        models: those on offer.
        plugins: further plugins, as names with modules or objects.
        loading: begin with an engine that is loading.
    """
    extra = [("served", _Bringer(protocols)), *plugins]
    loaded = load_plugins(PluginSettings(), extra=extra, path=())
    settings = load_settings(None, {}, on_a_free_port(flags), loaded.sections)
    registry = build_registry(loaded, settings)
    places = settings.section(EngineSettings)
    engine = ScriptedEngine(
        script,
        places=places.batch + places.queue,
        loading=loading,
        on_record=keeper(registry.observers),
    )
    frontends = {info.id: SketchFrontend(info) for info in models}
    memory = MemoryPlan({info.id: _weighed(info) for info in models}, MACHINE, places)
    desk = Desk(engine, frontends, registry, settings, memory=memory)
    with running(registry, desk, engine, settings.section(ServerSettings)) as served:
        yield served


MACHINE = Machine(
    backend="cpu", chip="sketch", ram_bytes=16 * 2**30, usable_bytes=8 * 2**30, bandwidth_gbs=100.0
)
"""The machine that everybody is served on here."""


def _weighed(info: ModelInfo) -> Reckon:
    """Return what a model takes that is not there: its files, and a kilobyte for each token."""
    footprint = Footprint(weights=info.weight_bytes, slots=(Slots(1024, None),), vocabulary=info.vocabulary)
    return lambda _: Account(footprint, info.context)


class _Bringer:
    """A plugin that brings protocols."""

    def __init__(self, protocols: Sequence[WireProtocol]) -> None:
        self._protocols = list(protocols)

    @hookimpl
    def mlxp_protocols(self) -> list[WireProtocol]:
        """Return them."""
        return self._protocols
