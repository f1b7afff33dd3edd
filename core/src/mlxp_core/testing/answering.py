"""A real model that answers in this process: files, template, engine thread, network and reader, but no server."""

import queue
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from msgspec.structs import replace

from mlxp_core.engine import Engine, LoadPlan, Order
from mlxp_core.loading import Frontend, load_frontend, open_folder
from mlxp_core.plugins import build_registry, load_plugins, load_settings
from mlxp_core.testing.client import PATIENCE_S
from mlxp_core.types import EngineSettings, Event, Failed, Finished, GenerateRequest, PluginSettings

_LENGTH = 512


class Answering:
    """A loaded model.

    Attributes:
        frontend: its half without arrays.
    """

    def __init__(
        self, frontend: Frontend, engine: Engine, posted: "queue.SimpleQueue[Callable[[], None]]"
    ) -> None:
        """Hold an engine that has started and posts into ``posted``."""
        self.frontend = frontend
        self._engine = engine
        self._posted = posted

    def ask(self, *requests: GenerateRequest) -> list[list[Event]]:
        """Let the model answer all of them together; return what it said to each.

        Args:
            requests: one choice each. Without a length they get 512 tokens, without a seed 0; all else is taken as it
                is, so say a temperature.
        """
        said: list[list[Event]] = [[] for _ in requests]
        for request, events in zip(requests, said, strict=True):
            self._engine.submit([self._order(request, events)])
        while not all(events and isinstance(events[-1], Finished | Failed) for events in said):
            self._posted.get(timeout=PATIENCE_S)()
        return said

    def _order(self, request: GenerateRequest, events: list[Event]) -> Order:
        resolved = replace(
            request,
            max_tokens=request.max_tokens or _LENGTH,
            sampling=replace(request.sampling, seed=request.sampling.seed or 0),
        )
        prompt = self.frontend.prepare(resolved)
        return Order(
            request=resolved,
            prompt=prompt,
            reader=self.frontend.reader(resolved, prompt, 0),
            model=self.frontend.info.id,
            sink=events.extend,
        )


@contextmanager
def answering(
    path: Path, *, plugins: Sequence[tuple[str, object]] = (), search: Sequence[str] | None = None
) -> Iterator[Answering]:
    """Load a model in float32 for as long as the block lasts.

    Args:
        path: its folder.
        plugins: further plugins, as names with modules or objects.
        search: folders to search for installed plugins in place of ``sys.path``; ``()`` = only ``plugins``.
    """
    loaded = load_plugins(PluginSettings(), extra=plugins, path=search)
    registry = build_registry(loaded, load_settings(None, {}, {}, loaded.sections, absent=loaded.absent))
    folder = open_folder(path)
    frontend = load_frontend(folder, registry)
    plan = LoadPlan(folder=folder, family=frontend.family, config=frontend.config, dtype="float32")
    posted: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
    forgetful = EngineSettings(prompt_cache_bytes=0)  # what a question hears does not depend on earlier ones
    engine = Engine({frontend.info.id: plan}, forgetful, registry.sampler_stages)
    engine.start(posted.put)
    try:
        assert engine.wait_ready(PATIENCE_S), "the model was not loaded in time"
        yield Answering(frontend, engine, posted)
    finally:
        engine.stop(0)
