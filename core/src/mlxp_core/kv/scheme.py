"""From what was asked for to each layer's storage, once the network is known."""

from collections import Counter
from collections.abc import Mapping, Sequence

import mlx.core as mx

from mlxp_core.contracts import KVPolicy, LanguageModel
from mlxp_core.errors import ModelFolderError, SetupError
from mlxp_core.kv.policy import PlainPolicy, QuantizedPolicy, dtype_name
from mlxp_core.kv.survey import AttentionLayer, can_revoke, survey
from mlxp_core.types import KVInForce, KVScheme, KVStorage

SMALLEST_GROUP = 32
"""MLX has no affine groups below it."""


def policy_for(model: LanguageModel, scheme: KVScheme, dtype: mx.Dtype) -> tuple[KVPolicy, KVInForce]:
    """Return the policy that carries out ``scheme`` for a network, and what it comes to.

    Args:
        model: the network.
        scheme: what was asked for.
        dtype: type of its keys and values.

    Raises:
        ModelFolderError: the model's kv_config.json does not fit the network.
        SetupError: the setting does not fit the network, or the device cannot quantize.
    """
    layers = survey(model, heads=not scheme.plain)
    storages = choose(scheme, layers)
    policy: KVPolicy = PlainPolicy(dtype)
    if storages:
        try:
            policy = QuantizedPolicy(dtype, storages)
        except (RuntimeError, ValueError) as error:
            raise SetupError(
                f"MLX cannot quantize keys and values so on this device ({error}); set kv_quant to off"
            ) from error
    return policy, KVInForce(
        mode=scheme.mode,
        scheme=policy.scheme,
        layers=_counted(storages, layers, dtype_name(dtype)),
        full=sum(layer.window is None for layer in layers),
        sliding=sum(layer.window is not None for layer in layers),
        revocable=can_revoke(model),
    )


def choose(scheme: KVScheme, layers: Sequence[AttentionLayer]) -> dict[int, KVStorage]:
    """Return the storage of each layer that is quantized, by its number.

    Args:
        scheme: what was asked for; layers that it names and that keep no keys are passed over, as are those that no
            pass reaches.
        layers: all attention layers, in order.

    Raises:
        ModelFolderError: a layer's own storage does not fit its heads, or there is no such layer.
        SetupError: the storage for all layers does not fit the heads of one.
    """
    last = max((layer.number for layer in layers), default=-1)
    if beyond := [number for number in scheme.layers if number > last]:
        raise ModelFolderError(
            f"kv_config.json lists layer {beyond[0]}, but the network's last layer with keys is {last}; is the file "
            "another model's? Correct it, or set kv_quant to off"
        )
    inner = {layer.number for layer in layers[scheme.ends : len(layers) - scheme.ends]}
    chosen: dict[int, KVStorage] = {}
    for layer in layers:
        own = scheme.layers.get(layer.number)
        if not layer.heads:
            continue
        if own is not None:
            chosen[layer.number] = _exact(own, layer)
        elif scheme.uniform is not None and layer.number in inner:
            chosen[layer.number] = _fitted(scheme.uniform, layer)
    return chosen


def _exact(storage: KVStorage, layer: AttentionLayer) -> KVStorage:
    if _fits(storage.group_size, layer):
        return storage
    raise ModelFolderError(
        f"kv_config.json: layer {layer.number} has heads of {_sizes(layer)}, which groups of "
        f"{storage.group_size} do not divide; correct the file, or set kv_quant to off"
    )


def _fitted(storage: KVStorage, layer: AttentionLayer) -> KVStorage:
    """Return ``storage`` with the largest group that divides the heads of a layer."""
    group = storage.group_size
    while group >= SMALLEST_GROUP:
        if _fits(group, layer):
            return KVStorage(storage.bits, group)
        group //= 2
    raise SetupError(
        f"keys and values cannot be quantized: layer {layer.number} has heads of {_sizes(layer)}, which no group of "
        f"{SMALLEST_GROUP} or more divides; set kv_quant to off"
    )


def _fits(group: int, layer: AttentionLayer) -> bool:
    return all(size % group == 0 for size in layer.heads)


def _sizes(layer: AttentionLayer) -> str:
    return " and ".join(str(size) for size in sorted(set(layer.heads)))


def _counted(
    storages: Mapping[int, KVStorage], layers: Sequence[AttentionLayer], plain: str
) -> dict[str, int]:
    """Return how many layers are kept in each way."""
    labels = (storages[layer.number].label if layer.number in storages else plain for layer in layers)
    return dict(Counter(labels))
