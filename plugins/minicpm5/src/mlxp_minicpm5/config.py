"""config.json of MiniCPM5, validated, and the bytes it asks for."""

from typing import Annotated, Literal

from msgspec import Meta, Struct, ValidationError, convert

from mlxp_core.contracts import FolderFacts, RawConfig
from mlxp_core.errors import UnsupportedModel
from mlxp_core.types import LayerNeed, Need, passing_values

Size = Annotated[int, Meta(gt=0)]
Rate = Annotated[float, Meta(gt=0)]


class RopeKeys(Struct, frozen=True, kw_only=True):
    """``rope_parameters`` of newer files, ``rope_scaling`` of older ones, which write ``type``."""

    rope_type: str | None = None
    type: str | None = None
    rope_theta: Rate | None = None
    partial_rotary_factor: float = 1.0


class ConfigKeys(Struct, frozen=True, kw_only=True):
    """The keys of config.json that matter; where one may be absent, the default is that of transformers' llama."""

    vocab_size: Size
    hidden_size: Size
    intermediate_size: Size
    num_hidden_layers: Size
    num_attention_heads: Size
    num_key_value_heads: Size | None = None
    head_dim: Size | None = None
    rms_norm_eps: Rate = 1e-6
    rope_theta: Rate = 10000.0
    rope_parameters: RopeKeys | None = None
    rope_scaling: RopeKeys | None = None
    attention_bias: bool = False
    mlp_bias: bool = False
    tie_word_embeddings: bool = False
    hidden_act: Literal["silu", "swish"] = "silu"


class MiniCPM5Config(Struct, frozen=True, kw_only=True):
    """What the network is built from.

    Attributes:
        vocabulary: rows of the embedding table.
        hidden: width of the residual stream.
        inner: width inside the feed-forward layers.
        layers: how many blocks.
        heads: of the queries.
        kv_heads: of keys and values; each serves ``heads / kv_heads`` query heads.
        head_dim: of every head; ``heads * head_dim`` need not be ``hidden``.
        eps: of the norms.
        theta: base of the rotary periods.
        attention_bias: whether the four projections of attention have biases.
        mlp_bias: whether the feed-forward projections have.
        tied: whether the head is the embedding table.
    """

    vocabulary: int
    hidden: int
    inner: int
    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    eps: float
    theta: float
    attention_bias: bool
    mlp_bias: bool
    tied: bool


def read(raw: RawConfig) -> MiniCPM5Config:
    """Validate config.json.

    Raises:
        UnsupportedModel: a key is missing or wrong, or asks for what this network does not do.
    """
    try:
        keys = convert(raw, ConfigKeys)
    except ValidationError as error:
        raise UnsupportedModel(f"minicpm5: config.json: {error}") from error
    kv_heads = keys.num_key_value_heads or keys.num_attention_heads
    if keys.num_attention_heads % kv_heads:
        raise UnsupportedModel(
            f"minicpm5: config.json: num_attention_heads {keys.num_attention_heads} is no multiple of "
            f"num_key_value_heads {kv_heads}"
        )
    head_dim = keys.head_dim or keys.hidden_size // keys.num_attention_heads
    if head_dim % 2:
        raise UnsupportedModel(f"minicpm5: config.json: head_dim {head_dim} must be even to be rotated")
    return MiniCPM5Config(
        vocabulary=keys.vocab_size,
        hidden=keys.hidden_size,
        inner=keys.intermediate_size,
        layers=keys.num_hidden_layers,
        heads=keys.num_attention_heads,
        kv_heads=kv_heads,
        head_dim=head_dim,
        eps=keys.rms_norm_eps,
        theta=_theta(keys),
        attention_bias=keys.attention_bias,
        mlp_bias=keys.mlp_bias,
        tied=keys.tie_word_embeddings,
    )


def recognize(facts: FolderFacts) -> bool:
    """Tell MiniCPM5 from other llamas: its tool calls have tokens of their own, or its template writes them."""
    return {"<function", "<param"} <= facts.special_tokens or "<function name=" in facts.template


def need(config: MiniCPM5Config, value_bytes: int) -> Need:
    """Return the bytes by arithmetic."""
    queries, kv = config.heads * config.head_dim, config.kv_heads * config.head_dim
    attention = 2 * config.hidden * (queries + kv)
    attention += (queries + 2 * kv + config.hidden) * config.attention_bias
    feedforward = 3 * config.hidden * config.inner
    feedforward += (2 * config.inner + config.hidden) * config.mlp_bias
    block = attention + feedforward + 2 * config.hidden
    tables = config.vocabulary * config.hidden * (1 if config.tied else 2)
    dims = {"key_dim": config.head_dim, "value_dim": config.head_dim}
    return Need(
        weights=(tables + config.layers * block + config.hidden) * value_bytes,
        layers=tuple(
            LayerNeed(number=number, heads=config.kv_heads, queries=config.heads, **dims)
            for number in range(config.layers)
        ),
        passing=passing_values(hidden=config.hidden, inner=config.inner, queries=queries, kept=2 * kv)
        * value_bytes,
    )


def _theta(keys: ConfigKeys) -> float:
    """Return the base of the rotary periods; refuse any stretching by name."""
    theta = keys.rope_theta
    for where, rope in (("rope_parameters", keys.rope_parameters), ("rope_scaling", keys.rope_scaling)):
        if rope is None:
            continue
        kind = rope.rope_type or rope.type or "default"
        if kind != "default":
            raise UnsupportedModel(f"minicpm5: config.json: {where} of type {kind!r} is not supported")
        if rope.partial_rotary_factor != 1.0:
            raise UnsupportedModel(
                f"minicpm5: config.json: {where} with partial_rotary_factor "
                f"{rope.partial_rotary_factor} is not supported; heads are rotated whole"
            )
        theta = rope.rope_theta or theta
    return theta
