"""config.json of Gemma 4 as it is written: the keys that the text network asks for, and their types.

Released files spell every key out, and the libraries that read them disagree about what an absent one means; so an
absent key is an error wherever a default would be a guess.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType, ValidationError, convert

from mlxp_core.contracts import RawConfig
from mlxp_core.errors import UnsupportedModel

Size = Annotated[int, Meta(gt=0)]
Count = Annotated[int, Meta(ge=0)]
Rate = Annotated[float, Meta(gt=0)]

LayerKind = Literal["sliding_attention", "full_attention"]

UNIFIED = ("gemma4_unified", "gemma4_unified_text")
MODEL_TYPES = ("gemma4", "gemma4_text", *UNIFIED)


class RopeKeys(Struct, frozen=True, kw_only=True):
    """``rope_parameters`` of one kind of layer."""

    rope_theta: Rate
    rope_type: Literal["default", "proportional"] = "default"
    partial_rotary_factor: Annotated[float, Meta(gt=0, le=1)] = 1.0
    factor: float = 1.0


ROPES: Mapping[LayerKind, RopeKeys] = {
    "sliding_attention": RopeKeys(rope_theta=1e4),
    "full_attention": RopeKeys(rope_theta=1e6, rope_type="proportional", partial_rotary_factor=0.25),
}
"""Where the file says nothing."""


class TextKeys(Struct, frozen=True, kw_only=True):
    """Keys of ``text_config``, or of the whole file where it describes a text network alone."""

    vocab_size: Size
    hidden_size: Size
    intermediate_size: Size
    num_hidden_layers: Size
    num_attention_heads: Size
    num_key_value_heads: Size
    head_dim: Size
    sliding_window: Size
    attention_k_eq_v: bool
    num_kv_shared_layers: Count
    use_double_wide_mlp: bool
    hidden_size_per_layer_input: Count
    final_logit_softcapping: Annotated[float, Meta(ge=0)] | None
    num_global_key_value_heads: Size | None = None
    global_head_dim: Size | None = None
    layer_types: tuple[LayerKind, ...] | None = None
    sliding_window_pattern: Size | None = None
    rope_parameters: dict[LayerKind, RopeKeys] | None = None
    vocab_size_per_layer_input: Size | None = None
    enable_moe_block: bool = False
    num_experts: Size | None = None
    top_k_experts: Size | None = None
    moe_intermediate_size: Size | None = None
    use_bidirectional_attention: Literal["vision"] | UnsetType | None = UNSET
    rms_norm_eps: Rate = 1e-6
    attention_bias: bool = False
    hidden_activation: Literal["gelu_pytorch_tanh"] = "gelu_pytorch_tanh"
    pad_token_id: Count | None = None
    tie_word_embeddings: bool = True

    @property
    def kinds(self) -> tuple[LayerKind, ...]:
        """Return the kind of each layer; where they are not listed, every ``sliding_window_pattern``-th is full."""
        count, pattern = self.num_hidden_layers, self.sliding_window_pattern
        if self.layer_types is not None:
            if len(self.layer_types) != count:
                raise unsupported(f"it lists {len(self.layer_types)} layer_types for {count} layers")
            return self.layer_types
        if pattern is None or count % pattern:
            raise unsupported(
                f"it needs layer_types, or a sliding_window_pattern that divides num_hidden_layers, {count}; "
                f"the pattern is {pattern}"
            )
        return tuple(
            "sliding_attention" if layer % pattern else "full_attention" for layer in range(1, count + 1)
        )

    @property
    def ropes(self) -> Mapping[LayerKind, RopeKeys]:
        """Return how each kind of layer rotates."""
        ropes = {**ROPES, **(self.rope_parameters or {})}
        for kind, rope in ropes.items():
            if rope.factor != 1.0:
                raise unsupported(f"rope_parameters of {kind} with factor {rope.factor} are not supported")
            if rope.rope_type == "default" and rope.partial_rotary_factor != 1.0:
                raise unsupported(
                    f"rope_parameters of {kind}: type 'default' with partial_rotary_factor "
                    f"{rope.partial_rotary_factor} is not supported; 'proportional' is"
                )
        return ropes


class TopKeys(Struct, frozen=True, kw_only=True):
    """The keys beside ``text_config``."""

    model_type: Literal["gemma4", "gemma4_text", "gemma4_unified", "gemma4_unified_text"]
    tie_word_embeddings: bool | None = None
    image_token_id: Count | None = None
    audio_token_id: Count | None = None
    video_token_id: Count | None = None


def parse(raw: RawConfig) -> tuple[TopKeys, TextKeys]:
    """Validate what each key holds by itself.

    Raises:
        UnsupportedModel: a key is missing or has a wrong value.
    """
    text: Any = raw.get("text_config", raw)
    if not isinstance(text, Mapping):
        raise unsupported(f"text_config must be an object, not {type(text).__name__}")
    try:
        return convert(raw, TopKeys), convert(text, TextKeys)
    except ValidationError as error:
        raise unsupported(str(error)) from error


def unsupported(why: str) -> UnsupportedModel:
    """Return the error that says what of config.json this network does not do."""
    return UnsupportedModel(f"gemma4: config.json: {why}")
