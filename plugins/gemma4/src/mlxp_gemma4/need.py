"""The bytes that a Gemma 4 text network asks for, by arithmetic."""

from mlxp_core.types import EngineSettings, Need
from mlxp_gemma4.config import Gemma4Config, Layer


def need(config: Gemma4Config, value_bytes: int) -> Need:
    """Return the bytes; the transient part is one default prefill chunk through the widest layer."""
    full = sum(_kept(layer) for layer in config.own_layers if layer.window is None)
    rings = sum(_kept(layer) * layer.window for layer in config.own_layers if layer.window is not None)
    return Need(
        weights=_weights(config) * value_bytes,
        fixed=rings * value_bytes,
        per_token=full * value_bytes,
        transient=_passing(config) * value_bytes,
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


def _passing(config: Gemma4Config) -> int:
    """Count the numbers alive at once while a chunk passes the widest layer, and the logits of its last token."""
    widest = max(
        3 * layer.inner + 2 * config.heads * layer.head_dim + _kept(layer) for layer in config.layers
    )
    values = 4 * config.hidden + widest
    if config.experts is not None:
        values += config.experts.chosen * (3 * config.experts.inner + 2 * config.hidden)
    if config.per_layer is not None:
        values += 2 * len(config.layers) * config.per_layer.width
    return EngineSettings().prefill_chunk * values + config.vocabulary
