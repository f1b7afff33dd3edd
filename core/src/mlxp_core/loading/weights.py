"""The tensors of a model folder under the names of the network's parameters, not yet read from disk."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, MutableMapping
from typing import Any, Literal, Protocol

import mlx.core as mx
from msgspec import Struct

from mlxp_core.contracts import FamilyConfig, ModelFamily
from mlxp_core.errors import ModelFolderError
from mlxp_core.loading.files import where
from mlxp_core.loading.folder import ModelFolder
from mlxp_core.loading.parts import Part
from mlxp_core.loading.shards import StoredTensor
from mlxp_core.loading.slices import Progress as SliceProgress
from mlxp_core.loading.slices import Slices

WeightDtype = Literal["auto", "float32", "bfloat16", "float16"]

_SLICE_BYTES = 256 * 2**20
_QUANTIZED_PARTS = (".scales", ".biases")
_DTYPES: Mapping[str, mx.Dtype] = {"float32": mx.float32, "bfloat16": mx.bfloat16, "float16": mx.float16}


class Weights(Struct, frozen=True):
    """Lazy arrays by parameter name, and for each module the path it has in the checkpoint.

    ``read_bytes`` is what has been read already; whole tensors are read when they are evaluated.
    """

    arrays: dict[str, mx.array]
    origins: Mapping[str, str]
    read_bytes: int = 0


class Owner(Protocol):
    """Whose parameters tensors become: a family's or a vision tower's."""

    @property
    def name(self) -> str:
        """What it goes by."""
        ...

    @property
    def rename(self) -> Callable[[str], str | None]:
        """Tensor name to parameter name."""
        ...

    @property
    def convert(self) -> Callable[[MutableMapping[str, mx.array], Any], None] | None:
        """Change what needs more than a new name."""
        ...


def read_weights(
    folder: ModelFolder, owner: Owner, config: FamilyConfig, tensors: Mapping[str, StoredTensor]
) -> Weights:
    """Return the tensors that their owner keeps, renamed and converted.

    Args:
        folder: the model, for messages.
        owner: whose parameters they become.
        config: as the owner read it.
        tensors: those there are.

    Raises:
        ModelFolderError: when a file cannot be read, two tensors take one name, or the owner cannot convert.
    """
    stored, sources = _load(tensors), sources_of(folder, owner, tensors)
    arrays = {target: stored[name] for target, name in sources.items()}
    _convert(folder, owner, config, arrays)
    return Weights(arrays, _origins(sources))


def read_part(
    folder: ModelFolder, family: ModelFamily, part: Part, progress: SliceProgress | None = None
) -> Weights:
    """Return what one rank holds of the tensors that a family keeps, renamed and converted; nothing else is read.

    Args:
        folder: the model.
        family: whose parameters they become.
        part: of which rank.
        progress: told (bytes read, most that may be); what it raises ends the reading.

    Raises:
        ModelFolderError: as ``read_weights`` does.
        UnsupportedModel: a tensor cannot be divided.
    """
    sources = sources_of(folder, family, folder.tensors)
    cut = {target: part.slice_of(target, folder.tensors[name]) for target, name in sources.items()}
    slices_read = Slices(cut, progress)
    _convert(folder, family, part.division.config, slices_read)
    return Weights(dict(slices_read), _origins(sources), slices_read.read_bytes)


def sources_of(folder: ModelFolder, owner: Owner, tensors: Mapping[str, Any]) -> dict[str, str]:
    """Return, for each parameter that tensors are stored for, the name of its tensor.

    Raises:
        ModelFolderError: two tensors take one name.
    """
    sources: dict[str, str] = {}
    for name in tensors:
        target = parameter_name(name, tensors, owner)
        if target in sources:
            raise ModelFolderError(
                f"{folder.name}: tensors {sources[target]!r} and {name!r} are both parameter {target!r}"
            )
        if target is not None:
            sources[target] = name
    return sources


def _convert(
    folder: ModelFolder, owner: Owner, config: FamilyConfig, arrays: MutableMapping[str, mx.array]
) -> None:
    if owner.convert is None:
        return
    try:
        owner.convert(arrays, config)
    except (LookupError, TypeError, ValueError, RuntimeError) as error:
        raise ModelFolderError(
            f"{folder.name}: {owner.name!r} cannot convert the tensors: {type(error).__name__}: {error}"
        ) from error


def _origins(sources: Mapping[str, str]) -> dict[str, str]:
    return {_module(target): _module(name) for target, name in sources.items()}


def parameter_name(name: str, stored: Mapping[str, Any], owner: Owner) -> str | None:
    """Return the parameter that a tensor is for; the parts of a quantized weight go where the weight goes."""
    for part in _QUANTIZED_PARTS:
        weight = name.removesuffix(part) + ".weight"
        if name.endswith(part) and weight in stored:
            target = owner.rename(weight)
            return None if target is None else target.removesuffix(".weight") + part
    return owner.rename(name)


def target_dtype(setting: WeightDtype) -> mx.Dtype | None:
    """Return the type that weights are turned into; ``None`` = as stored.

    ``auto`` is float32 on a CPU, where 16-bit arithmetic is many times slower, and as stored elsewhere.
    """
    if setting != "auto":
        return _DTYPES[setting]
    return mx.float32 if mx.default_device().type == mx.DeviceType.cpu else None


def cast(
    arrays: Mapping[str, mx.array], dtype: mx.Dtype | None, float32: tuple[str, ...]
) -> dict[str, mx.array]:
    """Turn the floating-point arrays into ``dtype``, scales and biases too; packed numbers stay.

    Args:
        arrays: by parameter name.
        dtype: what to turn them into; ``None`` = as stored.
        float32: endings of the names that are float32 in any case.
    """

    def wanted(name: str, array: mx.array) -> mx.Dtype:
        if not mx.issubdtype(array.dtype, mx.floating):
            return array.dtype
        if name.endswith(float32) or array.dtype == mx.float64:
            return mx.float32
        return array.dtype if dtype is None else dtype

    return {name: array.astype(wanted(name, array)) for name, array in arrays.items()}


def slices(arrays: Mapping[str, mx.array], limit: int = _SLICE_BYTES) -> Iterator[list[mx.array]]:
    """Cut arrays into runs of about ``limit`` bytes, so that reading them can be watched and stopped."""
    run: list[mx.array] = []
    size = 0
    for array in arrays.values():
        if run and size + array.nbytes > limit:
            yield run
            run, size = [], 0
        run.append(array)
        size += array.nbytes
    if run:
        yield run


def _load(tensors: Mapping[str, StoredTensor]) -> dict[str, mx.array]:
    """Open the weight files; nothing but the headers is read."""
    opened: dict[str, dict[str, mx.array]] = {}
    for tensor in tensors.values():
        key = str(tensor.file)
        if key not in opened:
            try:
                opened[key] = _arrays(mx.load(key))
            except (RuntimeError, ValueError) as error:
                raise ModelFolderError(f"{where(tensor.file)} cannot be read: {error}") from error
    return {name: opened[str(tensor.file)][name] for name, tensor in tensors.items()}


def _arrays(loaded: Any) -> dict[str, mx.array]:
    """Return what ``mx.load`` gives for a safetensors file: arrays by name."""
    return dict(loaded)


def _module(parameter: str) -> str:
    return parameter.rpartition(".")[0]
