"""From a model folder to what an engine and a desk need of it; nothing is loaded yet, and nobody needs a device."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from msgspec import Struct

from mlxp_core.desk.drafter import Finder, check_head, check_tokens, draft_plan
from mlxp_core.engine import LoadPlan
from mlxp_core.loading import Frontend, choose_family, load_frontend, open_folder
from mlxp_core.loading.kv_config import kv_scheme
from mlxp_core.types import EngineSettings


class Opened(Struct, frozen=True, eq=False):
    """A model's half without arrays, and how to load the other."""

    frontend: Frontend
    plan: LoadPlan


def open_model(
    path: Path,
    registry: Finder,
    settings: EngineSettings,
    progress: Callable[[int, int], object] | None = None,
) -> Opened:
    """Open a model folder.

    Args:
        path: the folder.
        registry: what plugins brought.
        settings: how models are run.
        progress: told (done, total) while the model is loaded, on the engine thread.

    Raises:
        UnsupportedModel: no family claims the model.
        ModelFolderError: a file is missing or damaged.
        PluginError: several families claim the model, or a family names a format that no plugin brings.
        SetupError: what is to guess for the model cannot.
    """
    folder = open_folder(path)
    family, config = choose_family(folder, registry.families)
    frontend = load_frontend(folder, registry)
    if settings.by_head:
        check_head(folder, family)
    plan = LoadPlan(
        folder=folder,
        family=family,
        config=config,
        eyes=frontend.eyes,
        used=frontend.tokenizer.used,
        spell=lambda token: frontend.tokenizer.decode([token]),
        dtype=settings.dtype,
        kv=kv_scheme(path, settings),
        head=settings.by_head,
        draft=draft_plan(registry, settings, partial(check_tokens, frontend)),
        progress=progress,
    )
    return Opened(frontend, plan)
