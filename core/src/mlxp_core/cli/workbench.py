"""What commands of plugins are given: all settings, and a look at model folders."""

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct

from mlxp_core.contracts import Workbench
from mlxp_core.plugins import Setup
from mlxp_core.types import Appraisal, EngineSettings

if TYPE_CHECKING:
    from mlxp_core.loading.appraise import Place

S = TypeVar("S", bound=Struct)


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
        from mlxp_core.loading.appraise import Place  # as above

        try:
            from mlxp_core.memory.device import this_machine  # as above, and no MLX
        except ImportError:
            return None
        machine = this_machine()
        return Place(machine, machine.usable_bytes, self.section(EngineSettings))
