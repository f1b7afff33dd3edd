"""Loads the part of a model that this rank holds."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Literal

import mlx.core as mx
import msgspec
from mlx import nn
from msgspec import Struct

from mlxp_core.contracts import FamilyConfig, ModelFamily
from mlxp_core.errors import PluginError
from mlxp_core.kv import policy_for
from mlxp_core.loading.folder import ModelFolder
from mlxp_core.loading.network import Network, set_weights
from mlxp_core.loading.parts import part_of
from mlxp_core.loading.weights import read_part
from mlxp_core.ranks.group import Group
from mlxp_core.ranks.modules import unite
from mlxp_core.types import KVScheme

Progress = Callable[[int, int], object]


class Source(Struct, frozen=True, kw_only=True):
    """What a part is loaded from, and how.

    Attributes:
        folder: the model.
        family: which claims it.
        config: as the family read it, of the whole network.
        dtype: type of the weights.
        used: ids from this one on are no tokens.
        kv: how keys and values are to be kept.
    """

    folder: ModelFolder
    family: ModelFamily
    config: FamilyConfig
    dtype: Literal["auto", "float32", "bfloat16", "float16"] = "auto"
    used: int | None = None
    kv: KVScheme = KVScheme()

    @property
    def fingerprint(self) -> str:
        """Return what is the same on ranks that hold parts of one network, run alike."""
        tensors = sorted((name, each.dtype, each.shape) for name, each in self.folder.tensors.items())
        told = (self.family.name, dict(self.folder.config), tensors, self.dtype, self.kv)
        return hashlib.sha256(msgspec.json.encode(told, order="deterministic")).hexdigest()


def load_part(source: Source, group: Group, progress: Progress | None = None) -> tuple[Network, int]:
    """Build this rank's network, and read its weights and no others.

    Args:
        source: the model.
        group: the ranks.
        progress: told (bytes read, most that may be); what it raises ends the loading.

    Returns:
        The network, whose answers are those of the whole, and how many bytes of files were read.

    Raises:
        ModelFolderError: files are damaged, or tensors and parameters do not fit.
        PluginError: what the family builds is no network.
        UnsupportedModel: the network cannot be divided among so many ranks.
        SetupError: keys and values cannot be kept so.
    """
    folder, family = source.folder, source.family
    part = part_of(family, source.config, group.rank, group.ranks)
    model = family.build(part.division.config)
    if not isinstance(model, nn.Module):
        raise PluginError(
            f"family {family.name!r} builds a {type(model).__name__}, which is no mlx.nn.Module"
        )
    weights = read_part(folder, family, part, progress)
    total = set_weights(folder, model, weights, dtype=source.dtype, float32=family.float32)
    unite(model, part.division, group)
    embedded = model.embed(mx.zeros((1, 1), dtype=mx.int32))  # never computed: only shape and type are asked
    policy, in_force = policy_for(model, source.kv, embedded.dtype)
    network = Network(
        model=model,
        policy=policy,
        kv=in_force,
        vocabulary=model.logits(embedded).shape[-1],
        used=source.used,
        weight_bytes=total,
    )
    group.forget()
    return network, weights.read_bytes
