"""What can be said of a model folder without loading it."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from mlxp_core.contracts import FamilyConfig, ModelFamily
from mlxp_core.errors import MlxpError
from mlxp_core.loading.choose import choose_family
from mlxp_core.loading.eyes import Eyes, find_eyes
from mlxp_core.loading.files import model_name
from mlxp_core.loading.folder import ModelFolder, open_folder
from mlxp_core.loading.frontend import Formats
from mlxp_core.loading.kv_config import kv_scheme
from mlxp_core.loading.weighing import weigh
from mlxp_core.memory import fit
from mlxp_core.types import Appraisal, Budget, EngineSettings, FitReport, Machine

USUAL_CONTEXT = 8192
"""Tokens that a model should have room for."""


class Place(Struct, frozen=True):
    """Where models are to be served: a machine, what they may take of it in bytes, and how they are run."""

    machine: Machine
    total: int
    settings: EngineSettings


def appraise(path: Path, registry: Formats, place: Place | None = None) -> Appraisal:
    """Look at a model folder; whatever is wrong with it is its ``fault``.

    Args:
        path: the folder.
        registry: what plugins brought.
        place: where it would be served; without one, nobody says whether it fits.
    """
    try:
        folder = open_folder(path)
    except MlxpError as error:
        return Appraisal(name=model_name(path), fault=error.message)
    try:
        family, config = choose_family(folder, registry.families)
        eyes = _eyes(folder, family, config, registry)
        fitting = None if place is None else _fit(folder, family, config, eyes, place)
    except MlxpError as error:
        return _told(folder, fault=error.message)
    return _told(folder, family=family.name, vision=eyes is not None, fit=fitting)


def _told(
    folder: ModelFolder,
    *,
    family: str | None = None,
    fault: str | None = None,
    vision: bool = False,
    fit: FitReport | None = None,
) -> Appraisal:
    return Appraisal(
        name=folder.name,
        family=family,
        fault=fault,
        context=folder.context,
        weight_bytes=folder.weight_bytes,
        vision=vision,
        fit=fit,
    )


def _eyes(folder: ModelFolder, family: ModelFamily, config: FamilyConfig, registry: Formats) -> Eyes | None:
    try:
        return find_eyes(folder, family, config, registry.vision_towers)
    except MlxpError:  # it is served without eyes then
        return None


def _fit(
    folder: ModelFolder, family: ModelFamily, config: FamilyConfig, eyes: Eyes | None, place: Place
) -> FitReport:
    settings = place.settings
    scheme = kv_scheme(folder.path, settings)
    told = fit(
        folder.name,
        lambda machine: weigh(folder, family, config, machine, dtype=settings.dtype, kv=scheme, eyes=eyes),
        place.machine,
        Budget(place.total),
        chunk=settings.prefill_chunk,
        context=min(USUAL_CONTEXT, folder.context),
    )
    return told.report
