"""config.json of Qwen 3.5, validated."""

from typing import Annotated, Literal

from msgspec import Meta, Struct, ValidationError, convert

from mlxp_core.contracts import RawConfig
from mlxp_core.errors import UnsupportedModel

Size = Annotated[int, Meta(gt=0)]
Rate = Annotated[float, Meta(gt=0)]
Kind = Literal["linear_attention", "full_attention"]


class RopeKeys(Struct, frozen=True, kw_only=True):
    """``rope_parameters``, ``rope_scaling`` of older files; ``type`` is the older spelling of ``rope_type``."""

    rope_type: str | None = None
    type: str | None = None
    rope_theta: Rate | None = None
    partial_rotary_factor: Rate | None = None
    mrope_section: tuple[int, int, int] | None = None
    mrope_interleaved: Literal[True] = True


class TextKeys(Struct, frozen=True, kw_only=True):
    """The keys of the text part that matter; where one may be absent, the default is that of transformers."""

    vocab_size: Size
    hidden_size: Size
    num_hidden_layers: Size
    num_attention_heads: Size
    num_key_value_heads: Size
    intermediate_size: Size | None = None
    head_dim: Size = 256
    linear_num_key_heads: Size = 16
    linear_num_value_heads: Size = 32
    linear_key_head_dim: Size = 128
    linear_value_head_dim: Size = 128
    linear_conv_kernel_dim: Annotated[int, Meta(ge=2)] = 4
    full_attention_interval: Size = 4
    layer_types: tuple[Kind, ...] | None = None
    rope_parameters: RopeKeys | None = None
    rope_scaling: RopeKeys | None = None
    rope_theta: Rate | None = None
    partial_rotary_factor: Rate | None = None
    rms_norm_eps: Rate = 1e-6
    attention_bias: Literal[False] = False
    attn_output_gate: Literal[True] = True
    output_gate_type: Literal["swish", "silu"] = "swish"
    hidden_act: Literal["silu", "swish"] = "silu"
    tie_word_embeddings: bool = False
    num_experts: Annotated[int, Meta(ge=0)] | None = None
    num_experts_per_tok: Size = 8
    moe_intermediate_size: Size = 512
    shared_expert_intermediate_size: Size = 512
    norm_topk_prob: Literal[True] = True
    decoder_sparse_step: Literal[1] = 1
    mlp_only_layers: Annotated[tuple[int, ...], Meta(max_length=0)] | None = None
    mtp_num_hidden_layers: Annotated[int, Meta(ge=0)] | None = None
    mtp_use_dedicated_embeddings: Literal[False] = False


class Delta(Struct, frozen=True, kw_only=True):
    """The shape of a layer with a gated delta net.

    Attributes:
        key_heads: of queries and keys.
        heads: of values, and of the state; each key head serves ``heads / key_heads`` of them.
        key_dim: of queries and keys.
        value_dim: of values.
        kernel: tokens that the convolution in front sees.
    """

    key_heads: int
    heads: int
    key_dim: int
    value_dim: int
    kernel: int

    @property
    def channels(self) -> int:
        """Return the channels of the convolution: queries, keys and values."""
        return 2 * self.key_heads * self.key_dim + self.heads * self.value_dim


class Experts(Struct, frozen=True, kw_only=True):
    """A mixture of experts: how many, how many a token is sent to, and the width inside them and the shared one."""

    count: int
    chosen: int
    inner: int
    shared: int


class Rotary(Struct, frozen=True, kw_only=True):
    """How heads are turned: how many dimensions, the base of the periods, how many frequencies go with each axis."""

    dims: int
    theta: float
    sections: tuple[int, int, int]


class Qwen35Config(Struct, frozen=True, kw_only=True):
    """What the networks are built from.

    Attributes:
        vocabulary: rows of the embedding table.
        hidden: width of the residual stream.
        kinds: what each layer mixes tokens with.
        heads: of the queries of full attention.
        kv_heads: of its keys and values.
        head_dim: of all of these.
        rotary: how queries and keys are turned.
        delta: the shape of the linear layers.
        eps: of the norms.
        feedforward: width inside the feed-forward layers, or the experts in place of them.
        tied: whether the head is the embedding table.
        draft_layers: blocks of the draft head, if the checkpoint holds one.
    """

    vocabulary: int
    hidden: int
    kinds: tuple[Kind, ...]
    heads: int
    kv_heads: int
    head_dim: int
    rotary: Rotary
    delta: Delta
    eps: float
    feedforward: int | Experts
    tied: bool
    draft_layers: int


def read(raw: RawConfig) -> Qwen35Config:
    """Validate config.json; the text part may be nested in ``text_config``.

    Raises:
        UnsupportedModel: a key is missing or wrong, or asks for what this network does not do.
    """
    nested = raw.get("text_config", raw)
    try:
        keys = convert(nested, TextKeys)
    except ValidationError as error:
        where = "config.json" if nested is raw else "config.json: text_config"
        raise UnsupportedModel(f"qwen35: {where}: {error}") from error
    _divides("num_attention_heads", keys.num_attention_heads, "num_key_value_heads", keys.num_key_value_heads)
    _divides(
        "linear_num_value_heads",
        keys.linear_num_value_heads,
        "linear_num_key_heads",
        keys.linear_num_key_heads,
    )
    return Qwen35Config(
        vocabulary=keys.vocab_size,
        hidden=keys.hidden_size,
        kinds=_kinds(keys),
        heads=keys.num_attention_heads,
        kv_heads=keys.num_key_value_heads,
        head_dim=keys.head_dim,
        rotary=_rotary(keys),
        delta=Delta(
            key_heads=keys.linear_num_key_heads,
            heads=keys.linear_num_value_heads,
            key_dim=keys.linear_key_head_dim,
            value_dim=keys.linear_value_head_dim,
            kernel=keys.linear_conv_kernel_dim,
        ),
        eps=keys.rms_norm_eps,
        feedforward=_feedforward(keys),
        tied=keys.tie_word_embeddings,
        draft_layers=keys.mtp_num_hidden_layers or 0,
    )


def _divides(whole: str, heads: int, part: str, shared: int) -> None:
    if heads % shared:
        raise UnsupportedModel(f"qwen35: config.json: {whole} {heads} is no multiple of {part} {shared}")


def _kinds(keys: TextKeys) -> tuple[Kind, ...]:
    """Return what each layer is, by ``layer_types`` or by the interval of full attention."""
    every = keys.full_attention_interval
    kinds = keys.layer_types or tuple(
        "linear_attention" if (layer + 1) % every else "full_attention"
        for layer in range(keys.num_hidden_layers)
    )
    if len(kinds) != keys.num_hidden_layers:
        raise UnsupportedModel(
            f"qwen35: config.json: layer_types names {len(kinds)} layers, "
            f"num_hidden_layers says {keys.num_hidden_layers}"
        )
    if "linear_attention" not in kinds:
        raise UnsupportedModel("qwen35: config.json: there must be a linear_attention layer; all are full")
    return kinds


def _rotary(keys: TextKeys) -> Rotary:
    """Return how heads are turned; refuse any stretching by name."""
    theta, factor, sections = keys.rope_theta, keys.partial_rotary_factor, None
    for where, rope in (("rope_scaling", keys.rope_scaling), ("rope_parameters", keys.rope_parameters)):
        if rope is None:
            continue
        kind = rope.rope_type or rope.type or "default"
        if kind not in {"default", "mrope"}:
            raise UnsupportedModel(f"qwen35: config.json: {where} of type {kind!r} is not supported")
        theta = rope.rope_theta or theta
        factor = rope.partial_rotary_factor or factor
        sections = rope.mrope_section or sections
    dims = int(keys.head_dim * (factor or 0.25))
    if not 0 < dims <= keys.head_dim or dims % 2:
        raise UnsupportedModel(
            f"qwen35: config.json: head_dim {keys.head_dim} with partial_rotary_factor {factor or 0.25} "
            f"turns {dims} dimensions; it must be an even number within the head"
        )
    return Rotary(dims=dims, theta=theta or 10000.0, sections=sections or (11, 11, 10))


def _feedforward(keys: TextKeys) -> int | Experts:
    if keys.num_experts:
        if keys.num_experts_per_tok > keys.num_experts:
            raise UnsupportedModel(
                f"qwen35: config.json: num_experts_per_tok {keys.num_experts_per_tok} is more than "
                f"num_experts {keys.num_experts}"
            )
        return Experts(
            count=keys.num_experts,
            chosen=keys.num_experts_per_tok,
            inner=keys.moe_intermediate_size,
            shared=keys.shared_expert_intermediate_size,
        )
    if keys.intermediate_size is None:
        raise UnsupportedModel("qwen35: config.json: neither intermediate_size nor num_experts is given")
    return keys.intermediate_size
