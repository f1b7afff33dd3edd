"""How keys and values may be kept: bits for each attention layer, by what a layer hurts when it alone has few."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mlx.core as mx

from mlxp_core.contracts import LanguageModel
from mlxp_core.kv import QuantizedPolicy, policy_for
from mlxp_core.types import KVScheme, KVStorage
from mlxp_lab.quantize.allocate import Measured, Rules, allocate
from mlxp_lab.quantize.measure import Yardstick

FILE = "kv_config.json"
BITS = (4, 8)
_GROUP = 64
_CHUNK = 64
"""Tokens read at once: those of later chunks see what is kept of earlier ones."""

Done = Callable[[int, int], None]


def storages(model: LanguageModel, bits: int, dtype: mx.Dtype) -> dict[int, KVStorage]:
    """Return layer -> how it would be kept with so many bits; layers that keep no keys are left out."""
    policy, _ = policy_for(model, KVScheme(mode="config", uniform=KVStorage(bits, _GROUP)), dtype)
    return dict(policy.storages) if isinstance(policy, QuantizedPolicy) else {}


def kv_config(
    model: LanguageModel, yardstick: Yardstick, dtype: mx.Dtype, target: float, done: Done
) -> list[dict[str, Any]]:
    """Return the content of kv_config.json, whose mean is about ``target`` bits.

    Args:
        model: the network, plain.
        yardstick: what it says with plain keys and values.
        dtype: of scales.
        target: mean bits of a layer, 4 to 8.
        done: told (measurements made, measurements in all).
    """
    kept = {bits: storages(model, bits, dtype) for bits in BITS}
    layers = sorted(kept[BITS[0]])
    measured: list[Measured] = []
    for place, layer in enumerate(layers):
        hurts: dict[int, float] = {}
        for step, bits in enumerate(BITS, start=1):
            policy = QuantizedPolicy(dtype, {layer: kept[bits][layer]})
            hurts[bits] = yardstick.kl(model, policy, chunk=_CHUNK)
            done(len(BITS) * place + step, len(BITS) * len(layers))
        measured.append(Measured(f"layer {layer}", hurts, 1))
    rules = Rules(floor=0, longest_run=len(layers) + 1, protect=0, within=True, improving=True)
    told = allocate(measured, target, BITS, rules)
    return [
        {"layer_idx": layer, "bits": bits, "group_size": kept[bits][layer].group_size}
        for layer, bits in zip(layers, told.bits.values(), strict=True)
    ]
