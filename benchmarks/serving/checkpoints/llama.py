"""A Llama with MiniCPM5's tokens."""

from typing import Any

from msgspec import Struct

from benchmarks.serving.checkpoints.vocabulary import Vocabulary
from benchmarks.serving.checkpoints.weights import WHISPER, Weights

BEGIN, END, TURN_END = 0, 1, 25
CONTROL = {
    BEGIN: "<s>",
    END: "</s>",
    2: "<tool_call>",
    3: "</tool_call>",
    8: "<think>",
    9: "</think>",
    10: "<tool_response>",
    11: "</tool_response>",
    12: "<tools>",
    13: "</tools>",
    18: "<function",
    19: "</function>",
    20: "<param",
    24: "<|im_start|>",
    TURN_END: "<|im_end|>",
}
TEXT = frozenset({"<think>", "</think>"})
NAMES = {
    "bos_token": "<s>",
    "eos_token": "<|im_end|>",
    "pad_token": "</s>",
    "tokenizer_class": "PreTrainedTokenizerFast",
}


class Shape(Struct, frozen=True):
    """Of a Llama."""

    vocabulary: int
    hidden: int
    layers: int
    heads: int
    key_heads: int
    head: int
    inner: int


SHAPES = {
    "nano": Shape(2048, hidden=64, layers=2, heads=2, key_heads=1, head=32, inner=128),
    "mid": Shape(12288, hidden=448, layers=8, heads=8, key_heads=2, head=64, inner=1344),
}
"""So little arithmetic that all else shows; 30 million parameters."""


def config(shape: Shape) -> dict[str, Any]:
    """Return the config.json."""
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "attention_bias": False,
        "bos_token_id": BEGIN,
        "eos_token_id": [END, TURN_END],
        "pad_token_id": END,
        "head_dim": shape.head,
        "hidden_act": "silu",
        "hidden_size": shape.hidden,
        "intermediate_size": shape.inner,
        "max_position_embeddings": 131072,
        "mlp_bias": False,
        "num_attention_heads": shape.heads,
        "num_hidden_layers": shape.layers,
        "num_key_value_heads": shape.key_heads,
        "rms_norm_eps": 1e-6,
        "rope_theta": 5000000.0,
        "tie_word_embeddings": False,
        "torch_dtype": "float32",
        "vocab_size": shape.vocabulary,
    }


def weights(shape: Shape, words: Vocabulary) -> Weights:
    """Return the tensors."""
    made = Weights()
    made.said("model.embed_tokens.weight", "lm_head.weight", words, shape.hidden)
    made.scales("model.norm.weight", shape.hidden)
    for number in range(shape.layers):
        layer = f"model.layers.{number}"
        made.matrix(f"{layer}.self_attn.q_proj.weight", shape.heads * shape.head, shape.hidden)
        made.matrix(f"{layer}.self_attn.k_proj.weight", shape.key_heads * shape.head, shape.hidden)
        made.matrix(f"{layer}.self_attn.v_proj.weight", shape.key_heads * shape.head, shape.hidden)
        made.matrix(f"{layer}.self_attn.o_proj.weight", shape.hidden, shape.heads * shape.head, WHISPER)
        made.feed_forward(f"{layer}.mlp", shape.hidden, shape.inner)
        made.scales(f"{layer}.input_layernorm.weight", shape.hidden)
        made.scales(f"{layer}.post_attention_layernorm.weight", shape.hidden)
    return made
