"""The bytes Qwen 3.5 asks for, by arithmetic."""

from mlxp_core.types import EngineSettings, Need
from mlxp_qwen35.config import Experts, Qwen35Config

FLOAT32_BYTES = 4


def need(config: Qwen35Config, value_bytes: int) -> Need:
    """Return the bytes; the transient part is one default prefill chunk through one block."""
    delta, full = config.kinds.count("linear_attention"), config.kinds.count("full_attention")
    shape, kv = config.delta, config.kv_heads * config.head_dim
    blocks = delta * _delta_net(config, value_bytes) + full * _attention(config) * value_bytes
    blocks += len(config.kinds) * (_feedforward(config) + 2 * config.hidden) * value_bytes
    tables = config.vocabulary * config.hidden * (1 if config.tied else 2)
    last = (shape.kernel - 1) * shape.channels * value_bytes
    memory = shape.heads * shape.value_dim * shape.key_dim * FLOAT32_BYTES
    return Need(
        weights=blocks + (tables + config.hidden) * value_bytes,
        fixed=delta * (last + memory),
        per_token=2 * full * kv * value_bytes,
        transient=_transient(config, value_bytes),
    )


def _delta_net(config: Qwen35Config, value_bytes: int) -> int:
    """Return the bytes of the parameters of a delta net."""
    shape, hidden = config.delta, config.hidden
    values = shape.heads * shape.value_dim
    projections = hidden * (shape.channels + 2 * values + 2 * shape.heads)
    narrow = projections + shape.channels * shape.kernel + shape.heads
    return narrow * value_bytes + (shape.heads + shape.value_dim) * FLOAT32_BYTES


def _attention(config: Qwen35Config) -> int:
    """Return the parameters of full attention."""
    queries, kv = config.heads * config.head_dim, config.kv_heads * config.head_dim
    return config.hidden * (3 * queries + 2 * kv) + 2 * config.head_dim


def _feedforward(config: Qwen35Config) -> int:
    match config.feedforward:
        case Experts(count=count, inner=inner, shared=shared):
            return config.hidden * (3 * count * inner + 3 * shared + count + 1)
        case inner:
            return 3 * config.hidden * inner


def _transient(config: Qwen35Config, value_bytes: int) -> int:
    """Return the bytes of a chunk's activations: in the residual stream, in a delta net, in the feed-forward part."""
    shape, chunk = config.delta, EngineSettings().prefill_chunk
    match config.feedforward:
        case Experts(chosen=chosen, inner=inner, shared=shared):
            wide = 3 * (chosen * inner + shared) + chosen * config.hidden
        case inner:
            wide = 3 * inner
    stored = 4 * config.hidden + wide + 2 * (shape.channels + shape.heads * shape.value_dim)
    rule = shape.heads * (6 * shape.key_dim + 5 * shape.value_dim)  # float32: see delta.chunk_by_chunk
    return chunk * (stored * value_bytes + rule * FLOAT32_BYTES) + config.vocabulary * value_bytes
