"""What a Gemma 4 text network is built from."""

from typing import Literal

from msgspec import UNSET, Struct

from mlxp_core.contracts import RawConfig
from mlxp_gemma4.keys import UNIFIED, LayerKind, TextKeys, TopKeys, parse, unsupported

Overlay = Literal["none", "sliding", "all"]


class RopeShape(Struct, frozen=True):
    """Base of the rotary periods, and the share of the pairs that turn; the others stand still."""

    theta: float
    turned: float


class Layer(Struct, frozen=True, kw_only=True):
    """One layer.

    Attributes:
        window: tokens it sees, itself included; ``None`` = all before it.
        head_dim: of its heads.
        kv_heads: of its keys and values.
        source: the layer whose keys and values it attends to; ``None`` = its own.
        values_are_keys: whether its values are made from the keys' projection.
        inner: width inside its dense feed-forward.
        rope: how it rotates.
    """

    window: int | None
    head_dim: int
    kv_heads: int
    source: int | None
    values_are_keys: bool
    inner: int
    rope: RopeShape


class Experts(Struct, frozen=True):
    """How many experts each layer has, how many of them serve a token, and how wide each is inside."""

    count: int
    chosen: int
    inner: int


class PerLayer(Struct, frozen=True):
    """Embeddings that enter at every layer: their width, and the rows of their table."""

    width: int
    vocabulary: int


class Gemma4Config(Struct, frozen=True, kw_only=True):
    """What the text network is built from.

    Attributes:
        vocabulary: rows of the embedding table.
        hidden: width of the residual stream.
        heads: of the queries, in every layer.
        eps: of the norms.
        layers: one by one.
        experts: beside the dense feed-forward of every layer; ``None`` = none.
        per_layer: embeddings that enter at every layer; ``None`` = none.
        soft_cap: bound of the logits; ``None`` = unbounded.
        tied: whether the head is the embedding table.
        pad: token whose ``per_layer`` embedding placeholders take.
        placeholders: tokens that stand for images, sounds and videos in a prompt.
        overlay: the layers in which tokens of one image look ahead at each other.
    """

    vocabulary: int
    hidden: int
    heads: int
    eps: float
    layers: tuple[Layer, ...]
    experts: Experts | None
    per_layer: PerLayer | None
    soft_cap: float | None
    tied: bool
    pad: int
    placeholders: tuple[int, ...]
    overlay: Overlay

    @property
    def own_layers(self) -> tuple[Layer, ...]:
        """Return the layers with keys and values of their own; they come first."""
        return tuple(layer for layer in self.layers if layer.source is None)


def read(raw: RawConfig) -> Gemma4Config:
    """Validate config.json.

    Raises:
        UnsupportedModel: a key is missing or wrong, or asks for what this network does not do.
    """
    top, keys = parse(raw)
    if keys.attention_bias:
        raise unsupported("attention_bias true is not supported; no Gemma 4 has biases in its text network")
    found = (top.image_token_id, top.audio_token_id, top.video_token_id)
    return Gemma4Config(
        vocabulary=keys.vocab_size,
        hidden=keys.hidden_size,
        heads=keys.num_attention_heads,
        eps=keys.rms_norm_eps,
        layers=_layers(keys),
        experts=_experts(keys),
        per_layer=_per_layer(keys),
        soft_cap=keys.final_logit_softcapping or None,
        tied=keys.tie_word_embeddings if top.tie_word_embeddings is None else top.tie_word_embeddings,
        pad=keys.pad_token_id or 0,
        placeholders=tuple(token for token in found if token is not None),
        overlay=_overlay(top, keys),
    )


def whole_images(config: Gemma4Config) -> bool:
    """Say whether tokens of one image look ahead at each other, so that no pass may cut an image."""
    return config.overlay != "none"


def _overlay(top: TopKeys, keys: TextKeys) -> Overlay:
    unified, asked = top.model_type in UNIFIED, keys.use_bidirectional_attention
    if asked is UNSET:
        asked = "vision" if unified else None
    if asked is None:
        return "none"
    return "all" if unified else "sliding"


def _layers(keys: TextKeys) -> tuple[Layer, ...]:
    sources = _sources(keys)
    return tuple(_layer(keys, kind, source) for kind, source in zip(keys.kinds, sources, strict=True))


def _sources(keys: TextKeys) -> list[int | None]:
    """Return for each layer whose keys it reads: the last ones read those of the last layer of their kind before."""
    kinds, own = keys.kinds, keys.num_hidden_layers - keys.num_kv_shared_layers
    last = {kind: layer for layer, kind in enumerate(kinds[: max(own, 0)])}
    sources: list[int | None] = [None] * max(own, 0)
    for kind in kinds[max(own, 0) :]:
        if kind not in last:
            raise unsupported(
                f"num_kv_shared_layers {keys.num_kv_shared_layers} leaves no layer of type {kind!r} "
                f"with keys and values to share"
            )
        sources.append(last[kind])
    return sources


def _layer(keys: TextKeys, kind: LayerKind, source: int | None) -> Layer:
    full, rope = kind == "full_attention", keys.ropes[kind]
    same = full and keys.attention_k_eq_v
    kv_heads = (keys.num_global_key_value_heads if same else None) or keys.num_key_value_heads
    head_dim = (keys.global_head_dim or 512) if full else keys.head_dim
    if keys.num_attention_heads % kv_heads:
        raise unsupported(
            f"num_attention_heads {keys.num_attention_heads} is no multiple of the {kv_heads} key and value heads "
            f"of type {kind!r}"
        )
    if head_dim % 2:
        raise unsupported(
            f"heads of type {kind!r} have {head_dim} dimensions; an odd number cannot be rotated"
        )
    return Layer(
        window=None if full else keys.sliding_window,
        head_dim=head_dim,
        kv_heads=kv_heads,
        source=source,
        values_are_keys=same,
        inner=keys.intermediate_size * (1 if source is None or not keys.use_double_wide_mlp else 2),
        rope=RopeShape(rope.rope_theta, rope.partial_rotary_factor),
    )


def _experts(keys: TextKeys) -> Experts | None:
    if not keys.enable_moe_block:
        return None
    count, chosen, inner = keys.num_experts, keys.top_k_experts, keys.moe_intermediate_size
    if count is None or chosen is None or inner is None or chosen > count:
        raise unsupported(
            "enable_moe_block needs num_experts, top_k_experts (at most as many) and moe_intermediate_size; "
            f"they are {count}, {chosen} and {inner}"
        )
    return Experts(count, chosen, inner)


def _per_layer(keys: TextKeys) -> PerLayer | None:
    width, vocabulary = keys.hidden_size_per_layer_input, keys.vocab_size_per_layer_input
    if not width:
        return None
    if vocabulary is None or vocabulary < keys.vocab_size:
        raise unsupported(
            f"hidden_size_per_layer_input {width} needs a vocab_size_per_layer_input of at least vocab_size, "
            f"{keys.vocab_size}; it is {vocabulary}"
        )
    return PerLayer(width, vocabulary)
