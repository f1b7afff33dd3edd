"""config.json of gemma3_text, validated, and the bytes it asks for."""

from msgspec import Struct, ValidationError, convert

from mlxp_core.contracts import RawConfig
from mlxp_core.errors import UnsupportedModel
from mlxp_core.types import LayerNeed, Need, passing_values


class Gemma3Config(Struct, frozen=True, kw_only=True):
    """The part of config.json that matters."""

    hidden_size: int
    intermediate_size: int
    num_hidden_layers: int
    num_attention_heads: int
    num_key_value_heads: int
    head_dim: int
    vocab_size: int
    layer_types: tuple[str, ...]
    sliding_window: int
    query_pre_attn_scalar: float
    rms_norm_eps: float = 1e-6
    rope_theta: float = 1e6
    rope_local_base_freq: float = 1e4
    rope_scaling: None = None
    attn_logit_softcapping: None = None
    final_logit_softcapping: None = None
    tie_word_embeddings: bool = True


def read(raw: RawConfig) -> Gemma3Config:
    """Validate config.json.

    Raises:
        UnsupportedModel: a key is missing, has the wrong type, or asks for what this plugin does not do.
    """
    try:
        config = convert(raw, Gemma3Config)
    except ValidationError as error:
        raise UnsupportedModel(f"gemma3_text: config.json: {error}") from error
    if len(config.layer_types) != config.num_hidden_layers:
        raise UnsupportedModel(
            f"gemma3_text: config.json lists {len(config.layer_types)} layer_types "
            f"for {config.num_hidden_layers} layers"
        )
    if not config.tie_word_embeddings:
        raise UnsupportedModel(
            "gemma3_text: an output head of its own is not supported; set tie_word_embeddings"
        )
    return config


def need(config: Gemma3Config, value_bytes: int) -> Need:
    """Return the bytes by arithmetic: the tables, the layers, and keys and values per token and window."""
    h, d = config.hidden_size, config.head_dim
    heads, kv = config.num_attention_heads, config.num_key_value_heads
    layer = 2 * h * heads * d + 2 * h * kv * d + 3 * h * config.intermediate_size + 4 * h + 2 * d
    values = config.vocab_size * h + config.num_hidden_layers * layer + h
    return Need(
        weights=values * value_bytes,
        layers=tuple(_cache(config, number, kind) for number, kind in enumerate(config.layer_types)),
        passing=passing_values(hidden=h, inner=config.intermediate_size, queries=heads * d, kept=2 * kv * d)
        * value_bytes,
    )


def _cache(config: Gemma3Config, number: int, kind: str) -> LayerNeed:
    return LayerNeed(
        number=number,
        heads=config.num_key_value_heads,
        key_dim=config.head_dim,
        value_dim=config.head_dim,
        window=None if kind == "full_attention" else config.sliding_window,
        queries=config.num_attention_heads,
    )
