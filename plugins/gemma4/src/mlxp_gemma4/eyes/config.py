"""What Gemma 4's eyes are built from, read from config.json."""

from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct, ValidationError, convert

from mlxp_core.contracts import RawConfig
from mlxp_gemma4.keys import Rate, Size, unsupported


class Cut(Struct, frozen=True, kw_only=True):
    """How images are cut into soft tokens.

    Attributes:
        side: pixels of a soft token, both ways.
        longest: soft tokens of a side, at most; beyond, there are no positions.
        budget: soft tokens of an image, at most, where its settings do not say.
    """

    side: int
    longest: int
    budget: int


class TowerConfig(Struct, frozen=True, kw_only=True):
    """What the tower is built from.

    Attributes:
        cut: how images are cut.
        patch: pixels of a patch, both ways.
        pool: patches of a soft token, both ways.
        positions: patches of a side that have a position.
        hidden: width of the residual stream.
        inner: width inside the feed-forward.
        layers: how many.
        heads: of queries, keys and values.
        head_dim: of each.
        theta: base of the rotary periods.
        eps: of the norms.
        clipped: whether what goes into a projection and what comes out are clipped.
        standardized: whether features are shifted and scaled before the language model takes them.
        language: width of the language model.
    """

    cut: Cut
    patch: int
    pool: int
    positions: int
    hidden: int
    inner: int
    layers: int
    heads: int
    head_dim: int
    theta: float
    eps: float
    clipped: bool
    standardized: bool
    language: int


class EmbedderConfig(Struct, frozen=True, kw_only=True):
    """What the embedder of the unified model is built from.

    Attributes:
        cut: how images are cut; a patch is a soft token.
        positions: patches of a side that have a position.
        hidden: width between pixels and language model.
        eps: of the last norm.
        language: width of the language model.
    """

    cut: Cut
    positions: int
    hidden: int
    eps: float
    language: int


class _Rope(Struct, frozen=True):
    rope_theta: Rate = 100.0
    rope_type: Literal["default", "axial"] = "default"


class _Tower(Struct, frozen=True, kw_only=True):
    """``vision_config`` of a tower; the libraries that read it agree about absent keys."""

    hidden_size: Size = 768
    intermediate_size: Size = 3072
    num_hidden_layers: Size = 16
    num_attention_heads: Size = 12
    num_key_value_heads: Size | None = None
    head_dim: Size = 64
    patch_size: Size = 16
    pooling_kernel_size: Size = 3
    position_embedding_size: Size = 10240
    default_output_length: Size = 280
    rope_parameters: _Rope | None = None
    rms_norm_eps: Rate = 1e-6
    hidden_activation: Literal["gelu_pytorch_tanh"] = "gelu_pytorch_tanh"
    attention_bias: Literal[False] = False
    use_clipped_linears: bool = False
    standardize: bool = False


class _Embedder(Struct, frozen=True, kw_only=True):
    """``vision_config`` of the unified model."""

    patch_size: Size = 16
    pooling_kernel_size: Size = 3
    model_patch_size: Size | None = None
    mm_embed_dim: Size = 3840
    mm_posemb_size: Size = 1120
    output_proj_dims: Size | None = None
    num_soft_tokens: Size = 280
    rms_norm_eps: Rate = 1e-6


class _Text(Struct, frozen=True):
    hidden_size: Size


class _Top(Struct, frozen=True):
    text_config: _Text
    vision_soft_tokens_per_image: Size | None = None


def read(raw: RawConfig) -> TowerConfig | EmbedderConfig | None:
    """Read what a model sees by; ``None`` = it does not see.

    Raises:
        UnsupportedModel: a key is missing or wrong, or asks for what these networks do not do.
    """
    own: Any = raw.get("vision_config")
    if own is None:
        return None
    kind = own.get("model_type") if isinstance(own, Mapping) else None
    try:
        top = convert(raw, _Top)
        match kind:
            case "gemma4_vision":
                return _tower(convert(own, _Tower), top)
            case "gemma4_unified_vision":
                return _embedder(convert(own, _Embedder), top)
    except ValidationError as error:
        raise unsupported(f"vision_config and what belongs to it: {error}") from error
    raise unsupported(
        f"vision_config has model_type {kind!r}; there are 'gemma4_vision' and 'gemma4_unified_vision'"
    )


def _tower(keys: _Tower, top: _Top) -> TowerConfig:
    if keys.num_key_value_heads not in (None, keys.num_attention_heads):
        raise unsupported(
            f"vision_config has {keys.num_key_value_heads} num_key_value_heads for {keys.num_attention_heads} "
            f"num_attention_heads; only as many are supported"
        )
    if keys.head_dim % 4:
        raise unsupported(
            f"vision_config has head_dim {keys.head_dim}; only multiples of 4 can be rotated two ways"
        )
    return TowerConfig(
        cut=Cut(
            side=keys.patch_size * keys.pooling_kernel_size,
            longest=keys.position_embedding_size // keys.pooling_kernel_size,
            budget=top.vision_soft_tokens_per_image or keys.default_output_length,
        ),
        patch=keys.patch_size,
        pool=keys.pooling_kernel_size,
        positions=keys.position_embedding_size,
        hidden=keys.hidden_size,
        inner=keys.intermediate_size,
        layers=keys.num_hidden_layers,
        heads=keys.num_attention_heads,
        head_dim=keys.head_dim,
        theta=(keys.rope_parameters or _Rope()).rope_theta,
        eps=keys.rms_norm_eps,
        clipped=keys.use_clipped_linears,
        standardized=keys.standardize,
        language=top.text_config.hidden_size,
    )


def _embedder(keys: _Embedder, top: _Top) -> EmbedderConfig:
    side = keys.patch_size * keys.pooling_kernel_size
    if keys.model_patch_size not in (None, side):
        raise unsupported(
            f"vision_config has model_patch_size {keys.model_patch_size}, but patch_size times "
            f"pooling_kernel_size is {side}"
        )
    if keys.output_proj_dims not in (None, keys.mm_embed_dim):
        raise unsupported(
            f"vision_config has output_proj_dims {keys.output_proj_dims} and mm_embed_dim {keys.mm_embed_dim}; "
            f"only equal ones are supported"
        )
    return EmbedderConfig(
        cut=Cut(
            side=side,
            longest=keys.mm_posemb_size,
            budget=top.vision_soft_tokens_per_image or keys.num_soft_tokens,
        ),
        positions=keys.mm_posemb_size,
        hidden=keys.mm_embed_dim,
        eps=keys.rms_norm_eps,
        language=top.text_config.hidden_size,
    )
