"""The networks that a checkpoint holds, with the tensors of each, not computed yet: what new files are made from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import mlx.core as mx
from mlx import nn
from msgspec import Struct

from mlxp_core.errors import PluginError
from mlxp_core.loading.network import Quantizable, unpack
from mlxp_core.loading.packing import Packing
from mlxp_core.loading.shards import StoredTensor
from mlxp_core.loading.weights import Owner, parameter_name, read_weights
from mlxp_core.workshop.model import OpenModel

__all__ = ["Packing", "Part", "Quantizable", "draft_part", "left_over", "mlx_names", "network_part"]


class Part(Struct, frozen=True, eq=False):
    """One network of a checkpoint.

    Attributes:
        module: the network, unset, with plain modules.
        arrays: parameter name -> plain numbers, not computed; take them out as they are used, so that they can go.
        packings: how modules are stored that are stored quantized.
        packed: their weights, scales and biases as they are stored; take them out as they are used, likewise.
        mlx_name: parameter name -> what its tensor is called in new files.
        float32: endings of parameter names that are float32 in any case.
    """

    module: nn.Module
    arrays: dict[str, mx.array]
    packings: Mapping[str, Packing]
    packed: dict[str, tuple[mx.array, ...]]
    mlx_name: Callable[[str], str]
    float32: tuple[str, ...]


def network_part(model: OpenModel) -> Part:
    """Return the language model.

    Raises:
        ModelFolderError: files are damaged, or cannot be converted.
    """
    family = model.family
    return _part(model, family, family.build(model.config), mlx_names(model), family.float32)


def mlx_names(model: OpenModel) -> Callable[[str], str]:
    """Return what tells, of a parameter of the language model, what its tensor is called in new files."""
    named = model.family.mlx_name
    return _same if named is None else partial(_with, named, model)


def draft_part(model: OpenModel) -> Part | None:
    """Return the draft network; ``None`` where there is none.

    Raises:
        ModelFolderError: files are damaged, or cannot be converted.
    """
    head = model.family.draft_head
    if head is None:
        return None
    part = _part(model, head, head.build(model.config), head.mlx_name or _same, head.float32)
    return part if part.arrays else None


def left_over(model: OpenModel) -> dict[str, StoredTensor]:
    """Return the tensors that are of neither, such as those of eyes, by the names they have."""
    stored, owners = model.folder.tensors, [model.family, model.family.draft_head]
    return {
        name: tensor
        for name, tensor in stored.items()
        if all(owner is None or not _of(name, stored, owner) for owner in owners)
    }


def _of(name: str, stored: Mapping[str, StoredTensor], owner: Owner) -> bool:
    return parameter_name(name, stored, owner) is not None


def _part(
    model: OpenModel,
    owner: Owner,
    module: object,
    mlx_name: Callable[[str], str],
    float32: tuple[str, ...],
) -> Part:
    if not isinstance(module, nn.Module):
        raise PluginError(f"{owner.name!r} builds a {type(module).__name__}, which is no mlx.nn.Module")
    weights = read_weights(model.folder, owner, model.config, model.folder.tensors)
    stored = dict(weights.arrays)
    packings = unpack(module, weights, model.folder.config)
    packed = {path: tuple(stored[name] for name in _pieces(path) if name in stored) for path in packings}
    return Part(module, weights.arrays, packings, packed, mlx_name, float32)


def _pieces(path: str) -> tuple[str, ...]:
    return tuple(f"{path}.{piece}" for piece in ("weight", "scales", "biases"))


def _same(name: str) -> str:
    return name


def _with(named: Callable[[str, Mapping[str, object]], str], model: OpenModel, name: str) -> str:
    return named(name, model.folder.config)
