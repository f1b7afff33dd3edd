"""What commands of plugins are given: all settings, and a look at model folders."""

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct

from mlxp_core.contracts import Workbench
from mlxp_core.errors import SetupError
from mlxp_core.plugins import Setup
from mlxp_core.types import Appraisal, EngineSettings

if TYPE_CHECKING:
    from mlxp_core.loading.appraise import Place

S = TypeVar("S", bound=Struct)


def place_of(settings: EngineSettings) -> "Place":
    """Return this machine, as a place to serve models that are run as the settings say.

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
        lambda folder, family, config, eyes: reckon_of(folder, family, config, eyes, settings),
    )


class Bench(Workbench):
    """The workbench of one start."""

    def __init__(self, setup: Setup) -> None:
        """Stand on the settings and what plugins brought."""
        self._setup = setup

    def section(self, kind: type[S]) -> S:
        """Return a section of the settings."""
        return self._setup.settings.section(kind)

    def appraise(self, folder: Path) -> Appraisal:
        """Say what can be said of a model folder without loading it."""
        from mlxp_core.loading import appraise  # the other commands need no tokenizer

        return appraise(folder, self._setup.registry, self._place)

    @cached_property
    def _place(self) -> "Place | None":
        """Return this machine; ``None`` where MLX has no back end."""
        try:
            return place_of(self.section(EngineSettings))
        except SetupError:
            return None
