"""The bytes Qwen 3.5 asks for, by arithmetic."""

from mlxp_core.types import LayerNeed, Need, passing_values
from mlxp_qwen35.config import Experts, Kind, Qwen35Config

FLOAT32_BYTES = 4


def need(config: Qwen35Config, value_bytes: int) -> Need:
    """Return the bytes."""
    delta, full = config.kinds.count("linear_attention"), config.kinds.count("full_attention")
    blocks = delta * _delta_net(config, value_bytes) + full * _attention(config) * value_bytes
    blocks += len(config.kinds) * (_feedforward(config) + 2 * config.hidden) * value_bytes
    tables = config.vocabulary * config.hidden * (1 if config.tied else 2)
    return Need(
        weights=blocks + (tables + config.hidden) * value_bytes,
        idle=_idle(config) * value_bytes,
        layers=tuple(_cache(config, number, kind, value_bytes) for number, kind in enumerate(config.kinds)),
        passing=max(_passing_delta(config, value_bytes), _passing_attention(config) * value_bytes),
    )


def draft_need(config: Qwen35Config, value_bytes: int) -> Need:
    """Return the bytes of the draft head."""
    hidden, blocks = config.hidden, config.draft_layers
    block = _attention(config) + _feedforward(config) + 2 * hidden
    return Need(
        weights=(blocks * block + 2 * hidden * hidden + 3 * hidden) * value_bytes,
        layers=tuple(_cache(config, number, "full_attention", value_bytes) for number in range(blocks)),
        fixed=hidden * value_bytes,
        passing=(_passing_attention(config) + 2 * hidden) * value_bytes,
    )


def _cache(config: Qwen35Config, number: int, kind: Kind, value_bytes: int) -> LayerNeed:
    match kind:
        case "linear_attention":
            shape = config.delta
            last = (shape.kernel - 1) * shape.channels * value_bytes
            memory = shape.heads * shape.value_dim * shape.key_dim * FLOAT32_BYTES
            return LayerNeed(number=number, state=last + memory)
        case "full_attention":
            dims = {"key_dim": config.head_dim, "value_dim": config.head_dim}
            return LayerNeed(number=number, heads=config.kv_heads, queries=config.heads, **dims)


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


def _idle(config: Qwen35Config) -> int:
    """Return the parameters of the experts that a token is not sent to."""
    match config.feedforward:
        case Experts(count=count, chosen=chosen, inner=inner):
            return len(config.kinds) * 3 * config.hidden * (count - chosen) * inner
        case _:
            return 0


def _wide(config: Qwen35Config) -> tuple[int, int]:
    """Return the width inside the feed-forward part for one token, and what experts keep beside it."""
    match config.feedforward:
        case Experts(chosen=chosen, inner=inner, shared=shared):
            return chosen * inner + shared, 2 * chosen * config.hidden
        case inner:
            return inner, 0


def _passing_attention(config: Qwen35Config) -> int:
    """Count the numbers alive at once for each token of a pass through full attention; queries come with gates."""
    inner, beside = _wide(config)
    queries, kept = 2 * config.heads * config.head_dim, 2 * config.kv_heads * config.head_dim
    return beside + passing_values(hidden=config.hidden, inner=inner, queries=queries, kept=kept)


def _passing_delta(config: Qwen35Config, value_bytes: int) -> int:
    """Return the bytes alive at once for each token of a pass through a delta net: see delta.chunk_by_chunk."""
    shape, (inner, beside) = config.delta, _wide(config)
    stored = beside + passing_values(hidden=config.hidden, inner=inner, queries=shape.channels, kept=0)
    return stored * value_bytes + shape.heads * (6 * shape.key_dim + 5 * shape.value_dim) * FLOAT32_BYTES
