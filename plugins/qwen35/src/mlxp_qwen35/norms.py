"""Root mean square norms (Zhang & Sennrich, 2019), exact where weights are wider than activations."""

from functools import partial

import mlx.core as mx
from mlx import nn


class Norm(nn.Module):
    """``x / rms(x) * weight``, in the type of ``x``.

    Published checkpoints store ``weight - 1`` in 16 bits; ``weight`` has more digits than that, so it may be float32
    among 16-bit neighbours.
    """

    def __init__(self, dims: int, eps: float) -> None:
        """Norm the last axis, of ``dims``."""
        super().__init__()
        self.weight = mx.ones((dims,))
        self._eps = eps

    def __call__(self, x: mx.array) -> mx.array:
        """Norm ``[..., dims]``."""
        if x.dtype == self.weight.dtype:
            return mx.fast.rms_norm(x, self.weight, self._eps)
        return _scaled(mx.fast.rms_norm(x, None, self._eps), self.weight)


class GatedNorm(nn.Module):
    """``x / rms(x) * weight * silu(gate)``, in float32."""

    def __init__(self, dims: int, eps: float) -> None:
        """Norm the last axis, of ``dims``."""
        super().__init__()
        self.weight = mx.ones((dims,))
        self._eps = eps

    def __call__(self, x: mx.array, gate: mx.array) -> mx.array:
        """Norm float32 ``[..., dims]``, and gate it; the answer has the type of ``gate``."""
        return _gated(mx.fast.rms_norm(x, self.weight.astype(x.dtype), self._eps), gate)


@partial(mx.compile, shapeless=True)
def _scaled(x: mx.array, weight: mx.array) -> mx.array:
    return (x.astype(mx.float32) * weight).astype(x.dtype)


@partial(mx.compile, shapeless=True)
def _gated(x: mx.array, gate: mx.array) -> mx.array:
    wide = gate.astype(mx.float32)
    return (x * wide * mx.sigmoid(wide)).astype(gate.dtype)
