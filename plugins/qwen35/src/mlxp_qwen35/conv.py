"""A causal convolution over time, each channel by itself, that goes on where the pass before ended."""

import mlx.core as mx
from mlx import nn

from mlxp_core.contracts import Positions


class CausalConv(nn.Module):
    """``silu(sum_j weight_j * x_{t - kernel + 1 + j})``; ``weight`` is ``[channels, kernel, 1]``."""

    def __init__(self, channels: int, kernel: int) -> None:
        """See ``kernel`` tokens at a time, the newest included."""
        super().__init__()
        self.weight = mx.zeros((channels, kernel, 1))

    def __call__(self, x: mx.array, before: mx.array, at: Positions) -> tuple[mx.array, mx.array]:
        """Convolve a pass.

        Args:
            x: ``[rows, width, channels]``.
            before: ``[rows, kernel - 1, channels]``, the last tokens of each row so far; zeros where there are none.
            at: which tokens are real.

        Returns:
            ``[rows, width, channels]``, and the last real tokens of each row now, shaped as ``before``.
        """
        seen = mx.concatenate([before, x], axis=1)
        return _convolved(seen, self.weight), _latest(seen, before.shape[1], at)


@mx.compile
def _convolved(seen: mx.array, weight: mx.array) -> mx.array:
    kernel = weight.shape[1]
    width = seen.shape[1] - kernel + 1
    wide = weight.astype(mx.float32)
    total = mx.zeros((1,), dtype=mx.float32)
    for tap in range(kernel):
        total = total + seen[:, tap : tap + width] * wide[:, tap, 0]
    return (total * mx.sigmoid(total)).astype(seen.dtype)


def _latest(seen: mx.array, length: int, at: Positions) -> mx.array:
    """Return the ``length`` tokens that end with each row's last real one."""
    if at.valid is None:
        return mx.contiguous(seen[:, at.width :])

    def places() -> mx.array:
        return (mx.array(at.counts, dtype=mx.int32)[:, None] + mx.arange(length))[..., None]

    return mx.take_along_axis(seen, at.once(("latest", length), places), axis=1)
