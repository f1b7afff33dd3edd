"""What commands of plugins are given: all settings, and models on disk."""

import os
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct

from mlxp_core.blas import load_fast_blas
from mlxp_core.cli.folders import cache_folder
from mlxp_core.contracts import (
    ModelFamily,
    SettingInForce,
    ThinkingFormat,
    ToolFormat,
    VisionTower,
    Workbench,
)
from mlxp_core.errors import MlxpError, UnknownModel
from mlxp_core.plugins import Setup
from mlxp_core.types import Appraisal, EngineSettings

if TYPE_CHECKING:
    from mlxp_core.engine import LoadPlan
    from mlxp_core.loading.appraise import Place

S = TypeVar("S", bound=Struct)


def place_of(settings: EngineSettings, draft: "LoadPlan | None") -> "Place":
    """Return this machine, as a place to serve models that are run as the settings say.

    Args:
        settings: say it.
        draft: the smaller model that they have guess for each; see ``draft_plan``.

    Raises:
        SetupError: MLX has no back end here.
        SettingsError: ``memory_budget`` is no amount of memory.
    """
    from mlxp_core.cli.weighing import reckon_of, this_machine_or_fail  # only where something is served
    from mlxp_core.loading.appraise import Place  # as above
    from mlxp_core.memory.plan import budget_of  # as above

    machine = this_machine_or_fail()
    return Place(
        machine,
        budget_of(settings, machine),
        settings.prefill_chunk,
        lambda folder, family, config, eyes: reckon_of(folder, family, config, eyes, settings, draft),
    )


class Bench(Workbench):
    """The workbench of one start."""

    def __init__(self, setup: Setup) -> None:
        """Stand on the settings and what plugins brought."""
        self._setup = setup

    def in_force(self) -> tuple[SettingInForce, ...]:
        """Return every setting, what may not be shown left out."""
        return self._setup.settings.in_force()

    def section(self, kind: type[S]) -> S:
        """Return a section of the settings."""
        return self._setup.settings.section(kind)

    def prepare_device(self) -> None:
        """Have MLX compute as fast as it can in this process; to be called before it is first imported."""
        load_fast_blas(os.environ, cache_folder(os.environ, Path.home()))

    @property
    def path(self) -> Path | None:
        """The file the settings come from, if there is one."""
        return self._setup.settings.path

    @property
    def families(self) -> Mapping[str, ModelFamily]:
        """Families by name."""
        return self._setup.registry.families

    @property
    def tool_formats(self) -> Mapping[str, ToolFormat]:
        """Formats of tool calls by name."""
        return self._setup.registry.tool_formats

    @property
    def thinking_formats(self) -> Mapping[str, ThinkingFormat]:
        """Formats of thinking by name."""
        return self._setup.registry.thinking_formats

    @property
    def vision_towers(self) -> Mapping[str, VisionTower]:
        """Kinds of eyes by name."""
        return self._setup.registry.vision_towers

    def find(self, ref: str) -> Path:
        """Return the folder of a model reference.

        Raises:
            UnknownModel: no plugin knows it.
            MlxpError: what a plugin says on purpose, such as that it fits several models.
        """
        folder = self._setup.registry.resolve(ref)
        if folder is None:
            raise UnknownModel(f"no model {ref!r}: it is no folder, and no plugin knows the name")
        return folder

    def appraise(self, folder: Path) -> Appraisal:
        """Say what can be said of a model folder without loading it."""
        from mlxp_core.loading import appraise  # the other commands need no tokenizer

        return appraise(folder, self._setup.registry, self._place)

    @cached_property
    def _place(self) -> "Place | None":
        """Return this machine; ``None`` where MLX has no back end, or what is to guess for models cannot be read."""
        from mlxp_core.desk.drafter import draft_plan  # as above

        running = self.section(EngineSettings)
        try:
            return place_of(running, draft_plan(self._setup.registry, running))
        except MlxpError:
            return None
