"""From models and settings to a desk with an engine behind it; the parts of ``mlxp serve`` that need no terminal."""

import logging
import os
from pathlib import Path

from msgspec.structs import replace

from mlxp_core.cli.ranked import Company
from mlxp_core.cli.weighing import reckon_of
from mlxp_core.cli.workbench import place_of
from mlxp_core.desk import Desk, Lineup, keeper, own_root
from mlxp_core.engine import Engine, ShelfRules
from mlxp_core.memory import MemoryPlan
from mlxp_core.plugins import Setup
from mlxp_core.types import EngineSettings

log = logging.getLogger("mlxp")


def assemble(lineup: Lineup, setup: Setup, company: Company | None = None) -> Desk:
    """Return the desk of a server that has not been started.

    Args:
        lineup: the models.
        setup: settings and plugins.
        company: other processes that compute with this one; ``None`` = it is alone.

    Raises:
        SetupError: MLX has no back end here, or a model does not fit the memory budget.
        UnsupportedModel: a model cannot be divided among the ranks.
    """
    registry, settings = setup.registry, setup.settings
    running = settings.section(EngineSettings)
    plans = {model: each.plan for model, each in lineup.models.items()}
    place = place_of(running, next((plan.draft for plan in plans.values()), None))  # all have one alike
    machine, ranks = place.machine, 1
    if company is not None:
        machine, ranks = replace(machine, usable_bytes=company.usable_bytes), company.launch.ranks
    weights = {
        m: reckon_of(p.folder, p.family, p.config, p.eyes, running, p.draft, ranks=ranks)
        for m, p in plans.items()
    }
    memory = MemoryPlan(weights, machine, running, staying=lineup.pinned)

    def loaded(model: str) -> None:
        log.info("%s is loaded", model)
        registry.observers.model_loaded(lineup.models[model].frontend.info)

    engine = Engine(
        plans,
        running,
        registry.sampler_stages,
        admission=memory.admission,
        shelf=ShelfRules(pinned=lineup.pinned, unload_after_s=lineup.unload_after_s, loaded=loaded),
        on_record=keeper(registry.observers),
        leader=None if company is None else company.leader,
    )
    return Desk(
        engine,
        {model: each.frontend for model, each in lineup.models.items()},
        registry,
        settings,
        aliases=lineup.aliases,
        adapter_roots=(own_root(os.environ, Path.home()),),
        memory=memory,
        place=place,
    )
