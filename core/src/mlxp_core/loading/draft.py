"""A model's draft network with its weights, where the checkpoint holds one. Engine thread only."""

from __future__ import annotations

from mlx import nn

from mlxp_core.contracts import DraftNetwork, FamilyConfig, ModelFamily
from mlxp_core.errors import ModelFolderError, PluginError
from mlxp_core.loading.folder import ModelFolder
from mlxp_core.loading.network import set_weights
from mlxp_core.loading.shards import StoredTensor
from mlxp_core.loading.weights import WeightDtype, parameter_name, read_weights


def draft_tensors(folder: ModelFolder, family: ModelFamily) -> dict[str, StoredTensor]:
    """Return the tensors of a checkpoint that are its draft head's alone, by the names of the head's parameters."""
    head, stored = family.draft_head, folder.tensors
    if head is None:
        return {}
    return {
        target: tensor
        for name, tensor in stored.items()
        if parameter_name(name, stored, family) is None
        and (target := parameter_name(name, stored, head)) is not None
    }


def load_draft(
    folder: ModelFolder, family: ModelFamily, config: FamilyConfig, *, dtype: WeightDtype = "auto"
) -> DraftNetwork | None:
    """Build a draft network and read its weights.

    Args:
        folder: the model.
        family: which claims it.
        config: as the family read it.
        dtype: type of the weights; ``auto`` = float32 on a CPU, as stored elsewhere.

    Returns:
        The network; ``None`` where the family has none, or the checkpoint no tensors of it.

    Raises:
        ModelFolderError: files are damaged, or tensors and parameters do not fit.
        PluginError: what the family builds is no network.
    """
    head = family.draft_head
    if head is None:
        return None
    weights = read_weights(folder, head, config, folder.tensors)
    if not weights.arrays:
        return None
    network = head.build(config)
    if not isinstance(network, nn.Module):
        raise PluginError(
            f"draft head {head.name!r} builds a {type(network).__name__}, which is no mlx.nn.Module"
        )
    try:
        set_weights(folder, network, weights, dtype=dtype, float32=head.float32)
    except ModelFolderError as error:
        raise ModelFolderError(f"draft head {head.name!r}: {error.message}") from error
    return network
