"""What model families share: rotary positions, heads, gated feed-forward layers, experts."""

from mlxp_core.nn.embedding import TypedEmbedding
from mlxp_core.nn.experts import ExpertStack, QuantizedExpertStack, RoutedFeedForward
from mlxp_core.nn.feedforward import Gate, GatedFeedForward, gated
from mlxp_core.nn.heads import merge_heads, split_heads
from mlxp_core.nn.rope import Rope

__all__ = [
    "ExpertStack",
    "Gate",
    "GatedFeedForward",
    "QuantizedExpertStack",
    "Rope",
    "RoutedFeedForward",
    "TypedEmbedding",
    "gated",
    "merge_heads",
    "split_heads",
]
