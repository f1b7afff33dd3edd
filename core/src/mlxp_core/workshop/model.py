"""A model folder with everything that plugins make of it, and its network when it is wanted."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from mlxp_core.contracts import FamilyConfig, ModelFamily, Models
from mlxp_core.loading.folder import ModelFolder, open_folder
from mlxp_core.loading.frontend import Frontend, load_frontend

if TYPE_CHECKING:
    from mlxp_core.loading.network import Network

Dtype = Literal["auto", "float32", "bfloat16", "float16"]


class OpenModel(Struct, frozen=True, eq=False):
    """A model.

    Attributes:
        folder: its files, read and checked; ``folder.tensors`` are its tensors by name, by their headers alone.
        frontend: tokenizer, chat template, formats, eyes.
    """

    folder: ModelFolder
    frontend: Frontend

    @property
    def name(self) -> str:
        """Return what the model is called."""
        return self.folder.name

    @property
    def family(self) -> ModelFamily:
        """Return who claims it."""
        return self.frontend.family

    @property
    def config(self) -> FamilyConfig:
        """Return its configuration, as the family reads it."""
        return self.frontend.config

    def network(
        self,
        dtype: Dtype = "auto",
        *,
        packed: bool = True,
        progress: Callable[[int, int], None] | None = None,
    ) -> Network:
        """Build the network and read its weights; ``network.model`` is an ``mlx.nn.Module``.

        Args:
            dtype: type of the weights; ``auto`` = float32 on a CPU, as stored elsewhere.
            packed: whether modules stay quantized that are stored so; else they get plain numbers.
            progress: told (bytes read, bytes in all); what it raises ends the reading.

        Raises:
            ModelFolderError: files are damaged, or tensors and parameters do not fit.
        """
        from mlxp_core.loading.network import load_network  # noqa: PLC0415  # it loads MLX

        return load_network(
            self.folder,
            self.family,
            self.config,
            dtype=dtype,
            packed=packed,
            used=self.frontend.tokenizer.used,
            progress=progress,
        )


def open_model(path: Path, models: Models) -> OpenModel:
    """Open a model folder.

    Args:
        path: the folder; ``models.find`` tells it by name.
        models: what plugins know: a command's workbench, or a running server's ``models``.

    Raises:
        ModelFolderError: a file is missing, damaged or inconsistent.
        UnsupportedModel: no family claims the model.
        PluginError: several families claim it, or one names a format that no plugin brings.
    """
    folder = open_folder(path)
    return OpenModel(folder, load_frontend(folder, models))
