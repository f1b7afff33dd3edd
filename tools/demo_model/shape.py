"""The sizes of the network, and its config.json. Needs no arrays."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

LESS_ONE = ("layernorm.weight", "_norm.weight", "model.norm.weight")
"""Ends of the names of norms that are stored less by one; ``linear_attn.norm`` is not among them."""


@dataclass(frozen=True, slots=True)
class Shape:
    """The sizes of the network."""

    vocabulary: int = 4096
    hidden: int = 320
    layers: int = 10
    feedforward: int = 832
    heads: int = 5
    kv_heads: int = 5
    head_dim: int = 64
    key_heads: int = 5
    value_heads: int = 5
    key_dim: int = 64
    value_dim: int = 64
    kernel: int = 4
    interval: int = 2
    theta: float = 10000.0
    turned: float = 0.5
    eps: float = 1e-6
    context: int = 4096

    @property
    def rotary(self) -> int:
        """Return how many dimensions of a head are turned."""
        return int(self.head_dim * self.turned)

    @property
    def channels(self) -> int:
        """Return the channels of the convolution."""
        return 2 * self.key_heads * self.key_dim + self.value_heads * self.value_dim

    def full(self, layer: int) -> bool:
        """Say whether a layer attends."""
        return (layer + 1) % self.interval == 0

    def config(self) -> dict[str, Any]:
        """Return the config.json of the text part."""
        third = self.rotary // 2 // 3
        sections = [self.rotary // 2 - 2 * third, third, third]
        return {
            "model_type": "qwen3_5_text",
            "vocab_size": self.vocabulary,
            "hidden_size": self.hidden,
            "intermediate_size": self.feedforward,
            "num_hidden_layers": self.layers,
            "num_attention_heads": self.heads,
            "num_key_value_heads": self.kv_heads,
            "head_dim": self.head_dim,
            "linear_num_key_heads": self.key_heads,
            "linear_num_value_heads": self.value_heads,
            "linear_key_head_dim": self.key_dim,
            "linear_value_head_dim": self.value_dim,
            "linear_conv_kernel_dim": self.kernel,
            "full_attention_interval": self.interval,
            "layer_types": [
                "full_attention" if self.full(layer) else "linear_attention" for layer in range(self.layers)
            ],
            "rope_parameters": {
                "rope_type": "default",
                "rope_theta": self.theta,
                "partial_rotary_factor": self.turned,
                "mrope_section": sections,
                "mrope_interleaved": True,
            },
            "rms_norm_eps": self.eps,
            "hidden_act": "silu",
            "attention_bias": False,
            "attn_output_gate": True,
            "tie_word_embeddings": True,
            "max_position_embeddings": self.context,
            "bos_token_id": None,
            "eos_token_id": 2,
            "pad_token_id": 0,
        }

    def asdict(self) -> dict[str, Any]:
        """Return the sizes by name."""
        return asdict(self)
