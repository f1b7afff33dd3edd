"""A Qwen 3.5: three layers with recurrent state for one with attention."""

from typing import Any

from msgspec import Struct

from benchmarks.serving.checkpoints.vocabulary import Vocabulary
from benchmarks.serving.checkpoints.weights import WHISPER, Weights, normal, uniform

EVERY = 4
"""The last of so many layers attends."""

MARKS = (
    "<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|vision_start|>", "<|vision_end|>", "<|image_pad|>",
    "<|video_pad|>", "<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>", "<think>", "</think>",
)  # fmt: skip
TEXT = frozenset(MARKS[7:])
NAMES = {
    "bos_token": None,
    "eos_token": "<|im_end|>",
    "pad_token": "<|endoftext|>",
    "tokenizer_class": "Qwen2Tokenizer",
}
ROPE = 0.25
"""The part of a head that is rotated."""


class Shape(Struct, frozen=True):
    """Of a hybrid; ``state_*`` of the recurrent layers."""

    vocabulary: int
    hidden: int
    layers: int
    heads: int
    key_heads: int
    head: int
    inner: int
    state_keys: int
    state_values: int
    state_head: int


SHAPES = {
    "nano": Shape(
        2048, 64, 4, heads=2, key_heads=1, head=64, inner=128, state_keys=2, state_values=2, state_head=32
    ),
    "mid": Shape(
        12288, 448, 8, heads=6, key_heads=2, head=64, inner=1152, state_keys=4, state_values=8, state_head=64
    ),
}


def control(shape: Shape) -> dict[int, str]:
    """Return the control tokens, at the end of the vocabulary."""
    return {shape.vocabulary - len(MARKS) + place: text for place, text in enumerate(MARKS)}


def config(shape: Shape) -> dict[str, Any]:
    """Return the config.json, nested as in published files."""
    at = {text: token for token, text in control(shape).items()}
    pairs = int(shape.head * ROPE) // 2
    third = pairs // 3
    text = {
        "model_type": "qwen3_5_text",
        "attention_bias": False,
        "attn_output_gate": True,
        "eos_token_id": at["<|im_end|>"],
        "full_attention_interval": EVERY,
        "head_dim": shape.head,
        "hidden_act": "silu",
        "hidden_size": shape.hidden,
        "intermediate_size": shape.inner,
        "layer_types": [_kind(number) for number in range(shape.layers)],
        "linear_conv_kernel_dim": 4,
        "linear_key_head_dim": shape.state_head,
        "linear_num_key_heads": shape.state_keys,
        "linear_num_value_heads": shape.state_values,
        "linear_value_head_dim": shape.state_head,
        "max_position_embeddings": 262144,
        "mlp_only_layers": [],
        "mtp_num_hidden_layers": 0,
        "num_attention_heads": shape.heads,
        "num_hidden_layers": shape.layers,
        "num_key_value_heads": shape.key_heads,
        "partial_rotary_factor": ROPE,
        "rms_norm_eps": 1e-6,
        "rope_parameters": {
            "mrope_interleaved": True,
            "mrope_section": [pairs - 2 * third, third, third],
            "partial_rotary_factor": ROPE,
            "rope_theta": 10000000,
            "rope_type": "default",
        },
        "tie_word_embeddings": False,
        "torch_dtype": "float32",
        "vocab_size": shape.vocabulary,
    }
    return {
        "architectures": ["Qwen3_5ForConditionalGeneration"],
        "model_type": "qwen3_5",
        "text_config": text,
        "tie_word_embeddings": False,
        "eos_token_id": at["<|im_end|>"],
    }


def weights(shape: Shape, words: Vocabulary) -> Weights:
    """Return the tensors; norms are stored less one, as published."""
    made = Weights()
    root = "model.language_model"
    made.said(f"{root}.embed_tokens.weight", "lm_head.weight", words, shape.hidden)
    made.scales(f"{root}.norm.weight", shape.hidden, about=0.0)
    for number in range(shape.layers):
        layer = f"{root}.layers.{number}"
        made.scales(f"{layer}.input_layernorm.weight", shape.hidden, about=0.0)
        made.scales(f"{layer}.post_attention_layernorm.weight", shape.hidden, about=0.0)
        made.feed_forward(f"{layer}.mlp", shape.hidden, shape.inner)
        if _kind(number) == "full_attention":
            _attention(made, f"{layer}.self_attn", shape)
        else:
            _recurrence(made, f"{layer}.linear_attn", shape)
    return made


def _kind(number: int) -> str:
    return "full_attention" if number % EVERY == EVERY - 1 else "linear_attention"


def _attention(made: Weights, layer: str, shape: Shape) -> None:
    made.matrix(f"{layer}.q_proj.weight", 2 * shape.heads * shape.head, shape.hidden)
    made.matrix(f"{layer}.k_proj.weight", shape.key_heads * shape.head, shape.hidden)
    made.matrix(f"{layer}.v_proj.weight", shape.key_heads * shape.head, shape.hidden)
    made.matrix(f"{layer}.o_proj.weight", shape.hidden, shape.heads * shape.head, WHISPER)
    made.scales(f"{layer}.q_norm.weight", shape.head, about=0.0)
    made.scales(f"{layer}.k_norm.weight", shape.head, about=0.0)


def _recurrence(made: Weights, layer: str, shape: Shape) -> None:
    keys, values = shape.state_keys * shape.state_head, shape.state_values * shape.state_head
    made.matrix(f"{layer}.in_proj_qkv.weight", 2 * keys + values, shape.hidden)
    made.matrix(f"{layer}.in_proj_z.weight", values, shape.hidden)
    made.matrix(f"{layer}.in_proj_b.weight", shape.state_values, shape.hidden)
    made.matrix(f"{layer}.in_proj_a.weight", shape.state_values, shape.hidden)
    made[f"{layer}.conv1d.weight"] = 0.4 * normal(f"{layer}.conv", (2 * keys + values, 1, 4))
    made[f"{layer}.A_log"] = 0.7 * uniform(f"{layer}.A_log", (shape.state_values,))
    made[f"{layer}.dt_bias"] = 0.5 * uniform(f"{layer}.dt_bias", (shape.state_values,)) - 1.0
    made.scales(f"{layer}.norm.weight", shape.state_head)
    made.matrix(f"{layer}.out_proj.weight", shape.hidden, values, WHISPER)
