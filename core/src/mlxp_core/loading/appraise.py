"""What can be said of a model folder without loading it."""

from __future__ import annotations

from pathlib import Path

from mlxp_core.contracts import FamilyConfig, ModelFamily
from mlxp_core.errors import MlxpError
from mlxp_core.loading.choose import choose_family
from mlxp_core.loading.eyes import find_eyes
from mlxp_core.loading.files import model_name
from mlxp_core.loading.folder import ModelFolder, open_folder
from mlxp_core.loading.frontend import Formats
from mlxp_core.types import Appraisal


def appraise(path: Path, registry: Formats) -> Appraisal:
    """Look at a model folder; whatever is wrong with it is its ``fault``.

    Args:
        path: the folder.
        registry: what plugins brought.
    """
    try:
        folder = open_folder(path)
    except MlxpError as error:
        return Appraisal(name=model_name(path), fault=error.message)
    try:
        family, config = choose_family(folder, registry.families)
    except MlxpError as error:
        return _told(folder, fault=error.message)
    return _told(folder, family=family.name, vision=_sees(folder, family, config, registry))


def _told(
    folder: ModelFolder, *, family: str | None = None, fault: str | None = None, vision: bool = False
) -> Appraisal:
    return Appraisal(
        name=folder.name,
        family=family,
        fault=fault,
        context=folder.context,
        weight_bytes=folder.weight_bytes,
        vision=vision,
    )


def _sees(folder: ModelFolder, family: ModelFamily, config: FamilyConfig, registry: Formats) -> bool:
    try:
        return find_eyes(folder, family, config, registry.vision_towers) is not None
    except MlxpError:  # it is served without eyes then
        return False
