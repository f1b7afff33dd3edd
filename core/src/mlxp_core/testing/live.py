"""A real server on a free port around real model folders: what ``mlxp serve`` runs, in this process.

Nothing is left out: arrays, engine thread, desk, application and uvicorn are those that users get.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from mlxp_core.desk import Desk, keeper
from mlxp_core.engine import Engine, LoadPlan
from mlxp_core.loading import Frontend, choose_family, load_frontend, open_folder
from mlxp_core.loading.kv_config import kv_scheme
from mlxp_core.plugins import Registry, build_registry, load_plugins, load_settings
from mlxp_core.testing.client import PATIENCE_S, Flags, Served, on_a_free_port, running
from mlxp_core.types import EngineSettings, PluginSettings, ServerSettings


@contextmanager
def serve_folders(
    *folders: Path,
    plugins: Sequence[tuple[str, object]] = (),
    flags: Flags | None = None,
    path: Sequence[str] | None = None,
) -> Iterator[Served[Engine]]:
    """Serve models for as long as the block lasts, which begins when they are loaded.

    Args:
        folders: of the models; the first is the default one.
        plugins: further plugins, as names with modules or objects.
        flags: settings, by section and key.
        path: folders to search for installed plugins in place of ``sys.path``; ``()`` = only ``plugins``.
    """
    loaded = load_plugins(PluginSettings(), extra=plugins, path=path)
    settings = load_settings(None, {}, on_a_free_port(flags), loaded.sections, absent=loaded.absent)
    registry = build_registry(loaded, settings)
    running_as = settings.section(EngineSettings)
    halves = [_halves(folder, registry, running_as) for folder in folders]
    plans = {frontend.info.id: plan for frontend, plan in halves}
    engine = Engine(plans, running_as, registry.sampler_stages, on_record=keeper(registry.observers))
    desk = Desk(engine, {frontend.info.id: frontend for frontend, _ in halves}, registry, settings)
    with running(registry, desk, engine, settings.section(ServerSettings)) as served:
        assert engine.wait_ready(PATIENCE_S), "the models were not loaded in time"
        yield served


def _halves(path: Path, registry: Registry, settings: EngineSettings) -> tuple[Frontend, LoadPlan]:
    """Return a model's half without arrays, and how to load the other."""
    folder = open_folder(path)
    family, config = choose_family(folder, registry.families)
    frontend = load_frontend(folder, registry)
    plan = LoadPlan(
        folder=folder,
        family=family,
        config=config,
        eyes=frontend.eyes,
        used=frontend.tokenizer.used,
        spell=lambda token: frontend.tokenizer.decode([token]),
        dtype=settings.dtype,
        kv=kv_scheme(path, settings),
    )
    return frontend, plan
