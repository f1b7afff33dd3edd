"""A real server on a free port around real model folders: what ``mlxp serve`` runs, in this process.

Nothing is left out: arrays, engine thread, desk, application and uvicorn are those that users get.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from mlxp_core.desk import Desk, Lineup, keeper, line_up, open_model
from mlxp_core.engine import Engine, LoadPlan, ShelfRules
from mlxp_core.loading.weighing import weigh
from mlxp_core.memory import Account, MemoryPlan, Reckon, with_guesses
from mlxp_core.memory.device import this_machine
from mlxp_core.plugins import build_registry, load_plugins, load_settings
from mlxp_core.ranks.leader import Leader
from mlxp_core.testing.client import PATIENCE_S, Flags, Served, on_a_free_port, running
from mlxp_core.types import EngineSettings, Machine, ModelsSettings, PluginSettings, ServerSettings


@contextmanager
def serve_folders(
    *folders: Path,
    plugins: Sequence[tuple[str, object]] = (),
    flags: Flags | None = None,
    path: Sequence[str] | None = None,
    clock: Callable[[], float] = time.monotonic,
    leader: Leader | None = None,
) -> Iterator[Served[Engine]]:
    """Serve models for as long as the block lasts, which begins when they are loaded.

    Args:
        folders: of the models; the first is the default one.
        plugins: further plugins, as names with modules or objects.
        flags: settings, by section and key. Memory is counted where ``engine.memory_budget`` says what there is.
        path: folders to search for installed plugins in place of ``sys.path``; ``()`` = only ``plugins``.
        clock: the engine's; seconds that only grow.
        leader: leads other processes that compute with this one, by the ids of these models.
    """
    loaded = load_plugins(PluginSettings(), extra=plugins, path=path)
    settings = load_settings(None, {}, on_a_free_port(flags), loaded.sections, absent=loaded.absent)
    registry = build_registry(loaded, settings)
    running_as = settings.section(EngineSettings)
    opened = [(str(folder), open_model(folder, registry, running_as)) for folder in folders]
    lineup = line_up(opened, settings.section(ModelsSettings))
    frontends = {model: each.frontend for model, each in lineup.models.items()}
    plans = {model: each.plan for model, each in lineup.models.items()}
    memory = None if running_as.memory_budget is None else _weighed(plans, running_as, lineup)
    engine = Engine(
        plans,
        running_as,
        registry.sampler_stages,
        admission=None if memory is None else memory.admission,
        shelf=ShelfRules(
            pinned=lineup.pinned,
            unload_after_s=lineup.unload_after_s,
            loaded=lambda model: registry.observers.model_loaded(frontends[model].info),
        ),
        on_record=keeper(registry.observers),
        clock=clock,
        leader=leader,
    )
    desk = Desk(engine, frontends, registry, settings, aliases=lineup.aliases, memory=memory)
    with running(registry, desk, engine, settings.section(ServerSettings)) as served:
        assert engine.wait_ready(PATIENCE_S), "the models were not loaded in time"
        yield served


def _weighed(plans: Mapping[str, LoadPlan], settings: EngineSettings, lineup: Lineup) -> MemoryPlan:
    reckons = {model: _reckon(plan, settings) for model, plan in plans.items()}
    return MemoryPlan(reckons, this_machine(), settings, staying=lineup.pinned)


def _reckon(plan: LoadPlan, settings: EngineSettings) -> Reckon:
    return lambda machine: with_guesses(_weigh(plan, machine), settings)


def _weigh(plan: LoadPlan, machine: Machine) -> Account:
    return weigh(
        plan.folder,
        plan.family,
        plan.config,
        machine,
        dtype=plan.dtype,
        kv=plan.kv,
        eyes=plan.eyes,
        head=plan.head,
        draft=None if plan.draft is None else _weigh(plan.draft, machine),
    )
