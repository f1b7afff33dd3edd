"""Models that several ranks compute: how the first one's engine loads them. Lives on the engine thread."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from mlxp_core.engine.orders import LoadPlan
from mlxp_core.engine.shelf import Load
from mlxp_core.engine.warming import warm
from mlxp_core.loading.network import Network
from mlxp_core.ranks.leader import Leader
from mlxp_core.ranks.part import Source


def load_parts(plans: Mapping[str, LoadPlan], leader: Leader) -> Load:
    """Return what carries out one of these plans, on all ranks."""

    def load(plan: LoadPlan, progress: Callable[[int, int], None]) -> Network:
        model = next(name for name, each in plans.items() if each is plan)
        network = leader.load(model, source_of(plan), progress)
        warm(network)
        return network

    return load


def source_of(plan: LoadPlan) -> Source:
    """Return what parts are loaded from."""
    return Source(
        folder=plan.folder,
        family=plan.family,
        config=plan.config,
        dtype=plan.dtype,
        used=plan.used,
        kv=plan.kv,
    )
