"""Loading what guesses for a model. Engine thread only."""

from collections.abc import Callable

import mlx.core as mx

from mlxp_core.engine.orders import LoadPlan
from mlxp_core.engine.speculation.drafters import HeadDrafter, ModelDrafter
from mlxp_core.errors import ModelFolderError
from mlxp_core.kv import BatchCache, Drafter, forward
from mlxp_core.loading.draft import load_draft
from mlxp_core.loading.network import Network, load_network


def load_drafter(plan: LoadPlan, network: Network, progress: Callable[[int, int], None]) -> Drafter | None:
    """Return what guesses for a model as its plan says; ``None`` = nothing does.

    Args:
        plan: of the model.
        network: the model, loaded.
        progress: told (done, total) bytes of the drafter; may raise to stop.

    Raises:
        ModelFolderError: files are incomplete or damaged, or a network cannot go back into a pass.
    """
    drafter: Drafter
    if plan.head:
        head = load_draft(plan.folder, plan.family, plan.config, dtype=plan.dtype)
        if head is None:
            raise ModelFolderError(f"{plan.folder.name} holds no draft head; set speculate to another value")
        drafter = HeadDrafter(network.model, head)
    elif plan.draft is not None:
        own = plan.draft
        smaller = load_network(
            own.folder, own.family, own.config, dtype=own.dtype, used=own.used, kv=own.kv, progress=progress
        )
        drafter = ModelDrafter(smaller, vocabulary=network.vocabulary)
    else:
        return None
    if not _go_back(network, drafter):
        name = (
            plan.folder.name if plan.draft is None else f"{plan.folder.name} beside {plan.draft.folder.name}"
        )
        raise ModelFolderError(
            f"{name} cannot take back what was read, so guesses cannot be tried; set speculate to off and draft_model "
            "to none"
        )
    return drafter


def _go_back(network: Network, drafter: Drafter) -> bool:
    """Say whether rows of both can go back into a pass."""
    cache = BatchCache(network.model.make_caches(network.policy), drafter=drafter)
    for revocable in (False, True):
        forward(network.model, cache, mx.zeros((1, 2), dtype=mx.int32), revocable=revocable)
    return cache.trim(0, 1)
