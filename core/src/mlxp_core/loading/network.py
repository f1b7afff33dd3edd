"""The half of a model that has arrays: the network with its weights. Engine thread only."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol, runtime_checkable
from typing import cast as cast_type

import mlx.core as mx
from mlx import nn
from mlx.utils import tree_flatten, tree_unflatten
from msgspec import Struct

from mlxp_core.contracts import FamilyConfig, KVPolicy, LanguageModel, ModelFamily, RawConfig
from mlxp_core.errors import ModelFolderError, PluginError
from mlxp_core.kv import Drafter, policy_for
from mlxp_core.loading.folder import ModelFolder
from mlxp_core.loading.packing import NamedModes, Packing, Parts, packing_of
from mlxp_core.loading.weights import WeightDtype, Weights, cast, read_weights, slices, target_dtype
from mlxp_core.nn import TypedEmbedding
from mlxp_core.types import KVInForce, KVScheme

Progress = Callable[[int, int], None]
"""Told (bytes read, bytes in all) while weights are read; may raise to stop."""

_AS_MADE = KVScheme()

_SHOWN = 3
"""Names in a message about parameters that do not fit."""


class Network(Struct, frozen=True, eq=False):
    """A network with its weights.

    Attributes:
        model: the network; an ``mlx.nn.Module``.
        policy: makes its caches.
        vocabulary: number of logits.
        used: those from this one on are no tokens and never drawn: padding rows of the head; ``None`` = all are.
        weight_bytes: bytes of its parameters as they are in memory.
        kv: how ``policy`` keeps keys and values.
        drafter: guesses for it; ``None`` = nobody does, or what has been said does.
    """

    model: LanguageModel
    policy: KVPolicy
    vocabulary: int
    weight_bytes: int
    used: int | None = None
    kv: KVInForce | None = None
    drafter: Drafter | None = None

    @property
    def scheme(self) -> str:
        """Return how rows keep what they keep, a drafter's part too; rows of another scheme cannot be thawed."""
        own = self.policy.scheme
        return own if self.drafter is None else f"{own}; drafts: {self.drafter.scheme}"


@runtime_checkable
class Quantizable(Protocol):
    """A module that knows its quantized form, as MLX's linear layers and embeddings do; stacks of experts may too.

    Methods only: a module keeps its arrays where ``isinstance`` does not look from Python 3.12 on.
    """

    def __getitem__(self, name: str) -> mx.array:
        """Return a parameter."""
        ...

    def to_quantized(self, *, group_size: int, bits: int, mode: str) -> nn.Module:
        """Return a module of the same shape with packed weights."""
        ...


def load_network(
    folder: ModelFolder,
    family: ModelFamily,
    config: FamilyConfig,
    *,
    dtype: WeightDtype = "auto",
    used: int | None = None,
    kv: KVScheme = _AS_MADE,
    packed: bool = True,
    progress: Progress | None = None,
) -> Network:
    """Build a family's network and read its weights.

    Args:
        folder: the model.
        family: which claims it.
        config: as the family read it.
        dtype: type of the weights; ``auto`` = float32 on a CPU, as stored elsewhere.
        used: ids from this one on are no tokens (``Tokenizer.used``); ``None`` = all are.
        kv: how keys and values are to be kept.
        packed: whether modules stay quantized that are stored so; else they get plain numbers.
        progress: told after every slice; what it raises ends the loading.

    Raises:
        ModelFolderError: when files are damaged, or tensors and parameters do not fit.
        PluginError: when what the family builds is no network.
        SetupError: when keys and values cannot be kept so.
    """
    model = family.build(config)
    if not isinstance(model, nn.Module):
        raise PluginError(
            f"family {family.name!r} builds a {type(model).__name__}, which is no mlx.nn.Module"
        )
    weights = read_weights(folder, family, config, folder.tensors)
    if not packed:
        plain = unpack(model, weights, folder.config)
        if target_dtype(dtype) is None:  # plain numbers are stored nowhere: in 16 bits they take half
            for path in plain:
                weights.arrays[f"{path}.weight"] = weights.arrays[f"{path}.weight"].astype(mx.bfloat16)
    total = set_weights(folder, model, weights, dtype=dtype, float32=family.float32, progress=progress)
    embedded = model.embed(mx.zeros((1, 1), dtype=mx.int32))  # never computed: only shape and type are asked
    policy, in_force = policy_for(model, kv, embedded.dtype)
    return Network(
        model=model,
        policy=policy,
        kv=in_force,
        vocabulary=model.logits(embedded).shape[-1],
        used=used,
        weight_bytes=total,
    )


def set_weights(
    folder: ModelFolder,
    model: nn.Module,
    weights: Weights,
    *,
    dtype: WeightDtype,
    float32: tuple[str, ...],
    progress: Progress | None = None,
) -> int:
    """Set a module's parameters, quantized as they are stored, and read them from disk.

    Args:
        folder: the model.
        model: any module with unset parameters.
        weights: its parameters, as they are stored.
        dtype: type of the weights; ``auto`` = float32 on a CPU, as stored elsewhere.
        float32: endings of the names of those that are float32 in any case.
        progress: told after every slice; what it raises ends the reading.

    Returns:
        Bytes of the parameters in memory.

    Raises:
        ModelFolderError: when files are damaged, or tensors and parameters do not fit.
    """
    _quantize(model, weights, NamedModes(folder.config), target_dtype(dtype))
    check_parameters(folder.name, _shapes(model.parameters()), weights.arrays)
    arrays = cast(weights.arrays, target_dtype(dtype), float32)
    model.update(tree_unflatten(list(arrays.items())))
    model.eval()
    total = sum(array.nbytes for array in arrays.values())
    _read(folder.name, arrays, total, progress)
    return total


def check_parameters(
    model: str, expected: Mapping[str, tuple[int, ...]], given: Mapping[str, mx.array]
) -> None:
    """Hold the tensors against the network's parameters.

    Args:
        model: its name, for the message.
        expected: parameter name -> shape.
        given: the tensors, renamed and converted.

    Raises:
        ModelFolderError: when a parameter has no tensor, a tensor no parameter, or a shape differs; the message
            gives the number of such names and the first few.
    """
    missing = sorted(expected.keys() - given.keys())
    unexpected = sorted(given.keys() - expected.keys())
    misshapen = [
        f"{name} is {list(given[name].shape)}, should be {list(shape)}"
        for name, shape in expected.items()
        if name in given and tuple(given[name].shape) != shape
    ]
    faults = [
        f"{len(names)} {what}: {', '.join(names[:_SHOWN])}{', …' if len(names) > _SHOWN else ''}"
        for what, names in (("missing", missing), ("unexpected", unexpected), ("of another shape", misshapen))
        if names
    ]
    if faults:
        raise ModelFolderError(f"{model}: tensors do not fit the configuration; {'; '.join(faults)}")


def unpack(model: nn.Module, weights: Weights, config: RawConfig) -> dict[str, Packing]:
    """Put plain numbers, not computed yet, in the place of all packed ones, and return how they were packed.

    Args:
        model: the network, with its plain modules.
        weights: its parameters, as they are stored; changed.
        config: config.json, which names the modes.

    Raises:
        ModelFolderError: when shapes fit no packing.
    """
    modes, modules = NamedModes(config), dict(model.named_modules())
    packings: dict[str, Packing] = {}
    for name in list(weights.arrays):
        path = name.removesuffix(".scales")
        if path != name and path in modules:
            inputs = modules[path]["weight"].shape[-1]
            packings[path] = _packing(path, inputs, weights, modes)
            _unpack(path, weights, packings[path])
    return packings


def _quantize(model: nn.Module, weights: Weights, modes: NamedModes, dtype: mx.Dtype | None) -> None:
    """Replace the modules whose tensors have ``scales`` by their quantized form."""
    modules = dict(model.named_modules())
    replaced: list[tuple[str, nn.Module]] = []
    for name in list(weights.arrays):
        path = name.removesuffix(".scales")
        if path == name or path not in modules:
            continue
        module = modules[path]
        if not isinstance(module, Quantizable):
            raise ModelFolderError(
                f"{path} is quantized in the files, but {type(module).__name__} has no quantized form"
            )
        inputs = module["weight"].shape[-1]
        packing = _packing(path, inputs, weights, modes)
        if _computed_wrongly(packing, inputs):
            _unpack(path, weights, packing)
        else:
            replaced.append((path, _packed(path, module, packing, dtype)))
    model.update_modules(tree_unflatten(replaced))


def _computed_wrongly(packing: Packing, inputs: int) -> bool:
    """Say whether this device is known to get products with such weights wrong.

    MLX 0.32.4 does on CUDA with 4 bits and a single group a row, for several rows at once (seen on an H200, with
    errors of 30 and more). No layer of a published model is so narrow; test models are.
    """
    on_cuda = mx.default_device().type == mx.DeviceType.gpu and not mx.metal.is_available()
    four_bits = 4
    return on_cuda and packing.mode == "affine" and packing.bits == four_bits and inputs == packing.group_size


def _unpack(path: str, weights: Weights, packing: Packing) -> None:
    """Put the plain numbers in the place of packed ones, in float32 whatever the scales are."""
    held = weights.arrays
    scales, biases = held.pop(f"{path}.scales"), held.pop(f"{path}.biases", None)
    plain = mx.dequantize(
        held[f"{path}.weight"],
        scales if biases is None else scales.astype(mx.float32),
        None if biases is None else biases.astype(mx.float32),
        group_size=packing.group_size,
        bits=packing.bits,
        mode=packing.mode,
    )
    held[f"{path}.weight"] = plain.astype(mx.float32)


def _packing(path: str, inputs: int, weights: Weights, modes: NamedModes) -> Packing:
    weight, scales = weights.arrays.get(f"{path}.weight"), weights.arrays[f"{path}.scales"]
    biases = weights.arrays.get(f"{path}.biases")
    if weight is None or weight.dtype != mx.uint32 or weight.ndim == 0:
        raise ModelFolderError(f"{path} has scales, but no packed weight (uint32) beside them")
    parts = Parts(tuple(weight.shape), tuple(scales.shape), None if biases is None else tuple(biases.shape))
    return packing_of(path, inputs, parts, modes.of(weights.origins.get(path, path), path))


def _packed(path: str, module: Quantizable, packing: Packing, dtype: mx.Dtype | None) -> nn.Module:
    try:
        packed = module.to_quantized(group_size=packing.group_size, bits=packing.bits, mode=packing.mode)
    except ValueError as error:
        raise ModelFolderError(
            f"{path}: MLX has no {packing.mode} quantization with {packing.bits} bits and groups of "
            f"{packing.group_size}: {error}"
        ) from error
    if packing.mode != "affine" and dtype is not None and isinstance(packed, nn.QuantizedEmbedding):
        return TypedEmbedding(packed, dtype)
    return packed


def _shapes(parameters: object) -> dict[str, tuple[int, ...]]:
    flat = cast_type("list[tuple[str, mx.array]]", tree_flatten(parameters))
    return {name: tuple(array.shape) for name, array in flat}


def _read(model: str, arrays: Mapping[str, mx.array], total: int, progress: Progress | None) -> None:
    done = 0
    for run in slices(arrays):
        try:
            mx.eval(run)
        except RuntimeError as error:
            raise ModelFolderError(f"{model}: weights cannot be read: {error}") from error
        done += sum(array.nbytes for array in run)
        if progress is not None:
            progress(done, total)
