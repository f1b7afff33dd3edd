"""Gated feed-forward layers (Shazeer: "GLU Variants Improve Transformer", 2020)."""

from collections.abc import Callable
from functools import partial
from typing import Literal

import mlx.core as mx
from mlx import nn

Gate = Literal["silu", "gelu_tanh"]


class GatedFeedForward(nn.Module):
    """``down(act(gate(x)) * up(x))``: SwiGLU or, with the tanh approximation of GELU, GeGLU."""

    def __init__(self, hidden: int, inner: int, gate: Gate, *, bias: bool = False) -> None:
        """Map ``hidden`` dimensions to ``inner`` ones and back."""
        super().__init__()
        self.gate_proj = nn.Linear(hidden, inner, bias=bias)
        self.up_proj = nn.Linear(hidden, inner, bias=bias)
        self.down_proj = nn.Linear(inner, hidden, bias=bias)
        self._gated = gated(gate)

    def __call__(self, x: mx.array) -> mx.array:
        """Map ``[..., hidden]`` to the same shape."""
        return self.down_proj(self._gated(self.gate_proj(x), self.up_proj(x)))


def gated(gate: Gate) -> Callable[[mx.array, mx.array], mx.array]:
    """Return the function of gate and value, fused into one kernel."""
    match gate:
        case "silu":
            return swiglu
        case "gelu_tanh":
            return geglu


@partial(mx.compile, shapeless=True)
def swiglu(gate: mx.array, value: mx.array) -> mx.array:
    """Return ``silu(gate) * value``."""
    return gate * mx.sigmoid(gate) * value


@partial(mx.compile, shapeless=True)
def geglu(gate: mx.array, value: mx.array) -> mx.array:
    """Return ``gelu(gate) * value`` with GELU's tanh approximation (Hendrycks & Gimpel, 2016)."""
    inner = 0.7978845608028654 * (gate + 0.044715 * gate * gate * gate)  # sqrt(2 / pi)
    return 0.5 * gate * (1 + mx.tanh(inner)) * value
