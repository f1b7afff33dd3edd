"""A model's vision tower with its weights. Engine thread only."""

from __future__ import annotations

from mlx import nn

from mlxp_core.contracts import VisionNetwork
from mlxp_core.errors import ModelFolderError, PluginError
from mlxp_core.loading.eyes import Eyes
from mlxp_core.loading.folder import ModelFolder
from mlxp_core.loading.network import set_weights
from mlxp_core.loading.shards import StoredTensor, read_header
from mlxp_core.loading.weights import WeightDtype, read_weights


def load_tower(folder: ModelFolder, eyes: Eyes, *, dtype: WeightDtype = "auto") -> VisionNetwork:
    """Build a tower and read its weights.

    Args:
        folder: the model.
        eyes: its eyes.
        dtype: type of the weights; ``auto`` = float32 on a CPU, as stored elsewhere.

    Raises:
        ModelFolderError: files are damaged, or tensors and parameters do not fit.
        PluginError: what the tower builds is no network.
    """
    tower = eyes.tower
    network = tower.build(eyes.config)
    if not isinstance(network, nn.Module):
        raise PluginError(
            f"vision tower {tower.name!r} builds a {type(network).__name__}, which is no mlx.nn.Module"
        )
    stored = dict(folder.tensors) | _beside(folder, eyes)
    try:
        weights = read_weights(folder, tower, eyes.config, stored)
        set_weights(folder, network, weights, dtype=dtype, float32=tower.float32)
    except ModelFolderError as error:
        raise ModelFolderError(f"vision tower {tower.name!r}: {error.message}") from error
    return network


def _beside(folder: ModelFolder, eyes: Eyes) -> dict[str, StoredTensor]:
    """Return the tensors of the tower's own files; they win over those of the checkpoint."""
    files = (folder.path / name for name in eyes.tower.files)
    return {name: tensor for file in files if file.is_file() for name, tensor in read_header(file).items()}
