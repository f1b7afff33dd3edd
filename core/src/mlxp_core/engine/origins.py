"""What the prompt cache must know of a model to keep its rows apart from all others."""

import os
from collections.abc import Callable
from importlib.metadata import version

import mlx.core as mx
from msgspec import Struct

from mlxp_core import __version__
from mlxp_core.engine.orders import LoadPlan
from mlxp_core.promptcache import weights_identity


class Origin(Struct, frozen=True):
    """What the cache must know of a model.

    Attributes:
        weights: identity of its weights; see ``weights_identity``.
        spell: token -> its text, for explanations.
    """

    weights: str
    spell: Callable[[int], str] = str


def origin_of(plan: LoadPlan) -> Origin:
    """Return what tells the rows of one model from those of any other."""
    folders = [plan.folder] if plan.draft is None else [plan.folder, plan.draft.folder]
    files = {tensor.file for folder in folders for tensor in folder.tensors.values()}
    configs = [folder.path / "config.json" for folder in folders]
    device = str(mx.default_device().type)
    weights = weights_identity([*files, *configs], plan.dtype, __version__, version("mlx"), device)
    return Origin(weights, plan.spell)


def usual_bytes() -> int:
    """Return how many bytes the prompt cache may hold if nobody says: an eighth of the machine's memory."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 8
