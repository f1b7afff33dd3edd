"""Models on disk, as a running server knows them."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from mlxp_core.contracts import ModelFamily, Models, ThinkingFormat, ToolFormat, VisionTower
from mlxp_core.desk.catalogue import named
from mlxp_core.desk.faces import RegistryFace
from mlxp_core.errors import UnknownModel
from mlxp_core.loading import Place, appraise
from mlxp_core.types import Appraisal, Catalogue


class OnDisk(Models):
    """Finds and appraises with what plugins brought. Reads files: not for the event-loop thread."""

    def __init__(self, registry: RegistryFace, place: Place | None, offered: Callable[[], Catalogue]) -> None:
        """Stand on what plugins brought.

        Args:
            registry: what that is.
            place: where models would be served, if anybody knows.
            offered: asks for the models of this server.
        """
        self._registry = registry
        self._place = place
        self._offered = offered

    @property
    def families(self) -> Mapping[str, ModelFamily]:
        """Families by name."""
        return self._registry.families

    @property
    def tool_formats(self) -> Mapping[str, ToolFormat]:
        """Formats of tool calls by name."""
        return self._registry.tool_formats

    @property
    def thinking_formats(self) -> Mapping[str, ThinkingFormat]:
        """Formats of thinking by name."""
        return self._registry.thinking_formats

    @property
    def vision_towers(self) -> Mapping[str, VisionTower]:
        """Kinds of eyes by name."""
        return self._registry.vision_towers

    def find(self, ref: str) -> Path:
        """Return the folder of a model reference; a model of this server goes by its name here.

        Raises:
            UnknownModel: no plugin knows it.
            MlxpError: what a plugin says on purpose, such as that it fits several models.
        """
        with suppress(UnknownModel):
            return named(self._offered(), ref).path
        folder = self._registry.resolve(ref)
        if folder is None:
            raise UnknownModel(f"no model {ref!r}: it is no folder, and no plugin knows the name")
        return folder

    def appraise(self, folder: Path, context: int | None = None) -> Appraisal:
        """Say what can be said of a model folder without loading it."""
        return appraise(folder, self._registry, self._place, context)
