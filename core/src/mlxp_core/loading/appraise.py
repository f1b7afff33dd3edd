"""What can be said of a model folder without loading it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from mlxp_core.contracts import FamilyConfig, ModelFamily
from mlxp_core.errors import MlxpError
from mlxp_core.loading.choose import choose_family
from mlxp_core.loading.eyes import Eyes, find_eyes
from mlxp_core.loading.files import model_name
from mlxp_core.loading.folder import ModelFolder, open_folder
from mlxp_core.loading.frontend import Formats
from mlxp_core.memory import Reckon, fit
from mlxp_core.types import Appraisal, Budget, FitReport, Machine

USUAL_CONTEXT = 8192
"""Tokens that a model should have room for."""


Weigh = Callable[[ModelFolder, ModelFamily, FamilyConfig, Eyes | None], Reckon]
"""Returns what weighs a model on any machine. Handed in, because weighing loads MLX."""


class Place(Struct, frozen=True):
    """Where models are to be served.

    Attributes:
        machine: what they would run on.
        total: bytes that they may take of it.
        chunk: most tokens of a prompt read at once.
        weigh: says what they take.
    """

    machine: Machine
    total: int
    chunk: int
    weigh: Weigh


def appraise(
    path: Path, registry: Formats, place: Place | None = None, context: int | None = None
) -> Appraisal:
    """Look at a model folder; whatever is wrong with it is its ``fault``.

    Args:
        path: the folder.
        registry: what plugins brought.
        place: where it would be served; without one, nobody says whether it fits.
        context: tokens that it should have room for, if it reads as many; absent = a usual number.
    """
    try:
        folder = open_folder(path)
    except MlxpError as error:
        return Appraisal(name=model_name(path), fault=error.message)
    try:
        family, config = choose_family(folder, registry.families)
        eyes = _eyes(folder, family, config, registry)
        fitting = None if place is None else _fit(folder, family, config, eyes, place, context)
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
    folder: ModelFolder,
    family: ModelFamily,
    config: FamilyConfig,
    eyes: Eyes | None,
    place: Place,
    context: int | None,
) -> FitReport:
    reckon = place.weigh(folder, family, config, eyes)
    tokens = min(context or USUAL_CONTEXT, folder.context)
    budget = Budget(place.total)
    return fit(folder.name, reckon, place.machine, budget, chunk=place.chunk, context=tokens).report
