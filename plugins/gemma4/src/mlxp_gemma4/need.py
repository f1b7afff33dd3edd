"""The bytes that a Gemma 4 text network asks for, by arithmetic."""

from mlxp_core.types import LayerNeed, Need, passing_values
from mlxp_gemma4.config import Gemma4Config, Layer


def need(config: Gemma4Config, value_bytes: int) -> Need:
    """Return the bytes."""
    return Need(
        weights=_weights(config) * value_bytes,
        idle=_idle(config) * value_bytes,
        layers=tuple(_cache(config, number, layer) for number, layer in enumerate(config.own_layers)),
        passing=max(_passing(config, layer) for layer in config.layers) * value_bytes,
    )


def _cache(config: Gemma4Config, number: int, layer: Layer) -> LayerNeed:
    return LayerNeed(
        number=number,
        heads=layer.kv_heads,
        key_dim=layer.head_dim,
        value_dim=layer.head_dim,
        window=layer.window,
        queries=config.heads,
    )


def _kept(layer: Layer) -> int:
    """Count the numbers a layer keeps of each token."""
    return 2 * layer.kv_heads * layer.head_dim


def _weights(config: Gemma4Config) -> int:
    values = config.vocabulary * config.hidden * (1 if config.tied else 2) + config.hidden
    if config.per_layer is not None:
        width = len(config.layers) * config.per_layer.width
        values += config.per_layer.vocabulary * width + width * config.hidden + config.per_layer.width
    return values + sum(_layer(config, layer) for layer in config.layers)


def _layer(config: Gemma4Config, layer: Layer) -> int:
    hidden, dim = config.hidden, layer.head_dim
    values = 2 * config.heads * dim * hidden + dim  # queries, output, norm of the queries
    if layer.source is None:
        values += layer.kv_heads * dim * hidden * (1 if layer.values_are_keys else 2) + dim
    values += 3 * hidden * layer.inner + 4 * hidden + 1
    if config.experts is not None:
        experts = config.experts
        values += experts.count * (3 * hidden * experts.inner + hidden + 1) + 4 * hidden
    if config.per_layer is not None:
        values += 2 * hidden * config.per_layer.width + hidden
    return values


def _idle(config: Gemma4Config) -> int:
    """Count the parameters of the experts that a token is not sent to."""
    if config.experts is None:
        return 0
    experts = config.experts
    return len(config.layers) * (experts.count - experts.chosen) * 3 * config.hidden * experts.inner


def _passing(config: Gemma4Config, layer: Layer) -> int:
    """Count the numbers alive at once for each token of a pass that goes through a layer."""
    inner, extra = layer.inner, 0
    if config.experts is not None:
        inner += config.experts.chosen * config.experts.inner
        extra = 2 * config.experts.chosen * config.hidden
    if config.per_layer is not None:
        extra += 2 * len(config.layers) * config.per_layer.width
    queries = config.heads * layer.head_dim
    return extra + passing_values(hidden=config.hidden, inner=inner, queries=queries, kept=_kept(layer))
