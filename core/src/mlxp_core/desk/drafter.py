"""What guesses for a model, checked before anything is loaded: a smaller model, or the head in its own files."""

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from mlxp_core.contracts import ModelFamily
from mlxp_core.engine import LoadPlan
from mlxp_core.errors import SetupError
from mlxp_core.loading import Frontend, ModelFolder, choose_family, load_frontend, open_folder
from mlxp_core.loading.frontend import Formats
from mlxp_core.loading.kv_config import kv_scheme
from mlxp_core.types import EngineSettings


class Finder(Formats, Protocol):
    """What plugins brought; the registry fits."""

    def resolve(self, ref: str) -> Path | None:
        """Return the folder of a model reference; ``None`` = no plugin knows it."""
        ...


def draft_plan(
    plugins: Finder, settings: EngineSettings, check: Callable[[Frontend], object] = bool
) -> LoadPlan | None:
    """Return how to load the smaller model that guesses; ``None`` = the settings name none.

    Args:
        plugins: find it, and know its family.
        settings: how models are run.
        check: given its half without arrays; raises where it does not do.

    Raises:
        SetupError: no plugin knows its name; what ``check`` raises.
        UnsupportedModel: no family claims it.
        ModelFolderError: a file is missing or damaged.
    """
    ref = settings.draft_model
    if ref is None:
        return None
    path = plugins.resolve(ref)
    if path is None:
        raise SetupError(f"draft_model {ref!r} is no folder, and no plugin knows the name")
    folder = open_folder(path)
    family, config = choose_family(folder, plugins.families)
    frontend = load_frontend(folder, plugins)
    check(frontend)
    return LoadPlan(
        folder=folder,
        family=family,
        config=config,
        used=frontend.tokenizer.used,
        dtype=settings.dtype,
        kv=kv_scheme(path, settings),
    )


def check_head(folder: ModelFolder, family: ModelFamily) -> None:
    """Refuse to guess by a head that is not there.

    Raises:
        SetupError: the family has none, or the files hold no tensors of it.
    """
    head = family.draft_head
    if head is None or not any(head.rename(name) and family.rename(name) is None for name in folder.tensors):
        why = f"family {family.name!r} has none" if head is None else "its files hold no tensors of one"
        raise SetupError(f"{folder.name} cannot guess by a draft head: {why}; set speculate to lookup or off")


def check_tokens(model: Frontend, drafter: Frontend) -> None:
    """Refuse a drafter whose tokens mean something else.

    Raises:
        SetupError: with the first token that does.
    """
    difference = model.tokenizer.difference(drafter.tokenizer)
    if difference is not None:
        raise SetupError(
            f"{drafter.info.id} cannot guess for {model.info.id}: {difference}; take a smaller model of the same "
            "family and generation, or serve without draft_model"
        )
