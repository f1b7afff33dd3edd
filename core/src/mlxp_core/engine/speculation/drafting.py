"""Loading what guesses for a model. Engine thread only."""

from collections.abc import Callable

from mlxp_core.engine.orders import LoadPlan
from mlxp_core.engine.speculation.drafters import HeadDrafter, ModelDrafter
from mlxp_core.errors import ModelFolderError
from mlxp_core.kv import Drafter
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
    if plan.head:
        head = load_draft(plan.folder, plan.family, plan.config, dtype=plan.dtype)
        if head is None:
            raise ModelFolderError(f"{plan.folder.name} holds no draft head; set speculate to another value")
        return HeadDrafter(network.model, head)
    if plan.draft is None:
        return None
    own = plan.draft
    smaller = load_network(
        own.folder, own.family, own.config, dtype=own.dtype, used=own.used, kv=own.kv, progress=progress
    )
    for name, kv in ((plan.folder.name, network.kv), (own.folder.name, smaller.kv)):
        if kv is None or not kv.revocable:
            raise ModelFolderError(
                f"{name} cannot take back what it has read, so nothing can be guessed with it; serve without "
                "draft_model"
            )
    return ModelDrafter(smaller, vocabulary=network.vocabulary)
