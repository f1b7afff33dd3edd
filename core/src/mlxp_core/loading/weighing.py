"""What a model folder takes when it is served: read from the headers of its files, before anything is loaded."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping

from mlxp_core.contracts import FamilyConfig, ModelFamily
from mlxp_core.kv.quantized import DIRECT
from mlxp_core.kv.scheme import choose
from mlxp_core.kv.survey import AttentionLayer
from mlxp_core.loading.draft import draft_tensors
from mlxp_core.loading.eyes import Eyes
from mlxp_core.loading.folder import ModelFolder
from mlxp_core.loading.parts import Part, cut_shapes
from mlxp_core.loading.shards import ITEM_BYTES, StoredTensor, read_header
from mlxp_core.loading.weights import Owner, WeightDtype, parameter_name
from mlxp_core.memory import FEATURE_BYTES, Account, Look, footprint, look_of
from mlxp_core.types import KVScheme, KVStorage, Machine, Need

_FLOATING = frozenset({"F16", "BF16", "F32", "F64"})
_SCALES = ".scales"
_SERVED_BYTES: Mapping[str, int] = {"float32": 4, "bfloat16": 2, "float16": 2}
_FLOAT32_BYTES = 4


def weigh(
    folder: ModelFolder,
    family: ModelFamily,
    config: FamilyConfig,
    machine: Machine,
    *,
    dtype: WeightDtype = "auto",
    kv: KVScheme | None = None,
    eyes: Eyes | None = None,
    head: bool = False,
    draft: Account | None = None,
    part: Part | None = None,
) -> Account:
    """Return what a model takes on a machine.

    Args:
        folder: the model.
        family: which claims it.
        config: as the family read it.
        machine: where it is to be served; on a processor, ``auto`` is float32.
        dtype: type of the weights.
        kv: how keys and values are to be kept.
        eyes: its vision tower, if it is served with one.
        head: whether its draft head guesses for it.
        draft: what a smaller model takes that does; ``None`` = none.
        part: what this process holds of it; ``None`` = all.

    Raises:
        SetupError: keys and values cannot be kept so.
    """
    kept = dict(_kept(folder.tensors, family))
    if part is not None:
        kept, config = cut_shapes(kept, part), part.division.config
    value_bytes = _value_bytes(kept, family.float32, dtype, machine)
    need = family.need(config, value_bytes)
    stored = any(name.endswith(_SCALES) for name in kept) or not need.weights
    weights = _served(kept, family.float32, dtype, machine) if stored else need.weights
    counted = footprint(
        need,
        machine,
        weights=weights,
        value_bytes=value_bytes,
        vocabulary=folder.vocabulary or 0,
        storages=_storages(need, kv),
        direct=DIRECT[machine.backend],
        eyes=0 if eyes is None else _eyes(folder, eyes, dtype, machine) + FEATURE_BYTES,
        look=None if eyes is None else _look(folder, eyes, dtype, machine),
    )
    if head and family.draft_head is not None:
        weights = _served(draft_tensors(folder, family), family.draft_head.float32, dtype, machine)
        own = family.draft_head.need(config, value_bytes)
        counted = counted.beside(
            footprint(own, machine, weights=weights, value_bytes=value_bytes, vocabulary=0)
        )
    return Account(counted if draft is None else counted.beside(draft.footprint), folder.context)


def _kept(tensors: Mapping[str, StoredTensor], owner: Owner) -> Iterator[tuple[str, StoredTensor]]:
    """Yield the tensors that an owner keeps, under the names of its parameters."""
    for name, tensor in tensors.items():
        target = parameter_name(name, tensors, owner)
        if target is not None:
            yield target, tensor


def _served(
    kept: Mapping[str, StoredTensor], float32: tuple[str, ...], dtype: WeightDtype, machine: Machine
) -> int:
    """Return the bytes of tensors in memory: packed numbers as they are, the others in the type that is served."""
    target = _target_bytes(dtype, machine)

    def item(name: str, tensor: StoredTensor) -> int:
        own = ITEM_BYTES[tensor.dtype]
        if tensor.dtype not in _FLOATING:
            return own
        if name.endswith(float32) or tensor.dtype == "F64":
            return _FLOAT32_BYTES
        return own if target is None else target

    return sum(math.prod(tensor.shape) * item(name, tensor) for name, tensor in kept.items())


def _target_bytes(dtype: WeightDtype, machine: Machine) -> int | None:
    """Return the bytes of a number once weights have been turned; ``None`` = they stay as stored."""
    if dtype == "auto":
        return _FLOAT32_BYTES if machine.backend == "cpu" else None
    return _SERVED_BYTES[dtype]


def _value_bytes(
    kept: Mapping[str, StoredTensor], float32: tuple[str, ...], dtype: WeightDtype, machine: Machine
) -> int:
    """Return the bytes of a number as the network computes: that of most of its tensors, unless it is turned."""
    target = _target_bytes(dtype, machine)
    if target is not None:
        return target
    types = Counter(
        tensor.dtype
        for name, tensor in kept.items()
        if tensor.dtype in _FLOATING and not name.endswith(float32)
    )
    return ITEM_BYTES[types.most_common(1)[0][0]] if types else _FLOAT32_BYTES


def _storages(need: Need, kv: KVScheme | None) -> dict[int, KVStorage]:
    if kv is None or kv.plain:
        return {}
    layers = [
        AttentionLayer(layer.number, layer.window, (layer.key_dim, layer.value_dim))
        for layer in need.layers
        if layer.heads
    ]
    return choose(kv, layers)


def _eyes(folder: ModelFolder, eyes: Eyes, dtype: WeightDtype, machine: Machine) -> int:
    return _served(_kept_eyes(folder, eyes), eyes.tower.float32, dtype, machine)


def _look(folder: ModelFolder, eyes: Eyes, dtype: WeightDtype, machine: Machine) -> Look | None:
    if eyes.tower.need is None:
        return None
    value_bytes = _value_bytes(_kept_eyes(folder, eyes), eyes.tower.float32, dtype, machine)
    return look_of(eyes.tower.need(eyes.config), machine, value_bytes)


def _kept_eyes(folder: ModelFolder, eyes: Eyes) -> dict[str, StoredTensor]:
    files = (folder.path / name for name in eyes.tower.files)
    beside = {name: tensor for file in files if file.is_file() for name, tensor in read_header(file).items()}
    return dict(_kept({**folder.tensors, **beside}, eyes.tower))
