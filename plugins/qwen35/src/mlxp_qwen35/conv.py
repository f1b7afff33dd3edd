"""A causal convolution over time, each channel by itself, that goes on where the pass before ended."""

from functools import partial

import mlx.core as mx
from mlx import nn

from mlxp_core.contracts import Positions


class CausalConv(nn.Module):
    """``silu(sum_j weight_j * x_{t - kernel + 1 + j})``; ``weight`` is ``[channels, kernel, 1]``."""

    def __init__(self, channels: int, kernel: int) -> None:
        """See ``kernel`` tokens at a time, the newest included."""
        super().__init__()
        self.weight = mx.zeros((channels, kernel, 1))

    def __call__(self, x: mx.array, before: mx.array) -> tuple[mx.array, mx.array]:
        """Convolve a pass.

        Args:
            x: ``[rows, width, channels]``.
            before: ``[rows, kernel - 1, channels]``, the last tokens of each row so far; zeros where there are none.

        Returns:
            ``[rows, width, channels]``, and what it has seen, ``before`` with ``x``: see ``latest``.
        """
        seen = mx.concatenate([before, x], axis=1)
        return _convolved(seen, self.weight), seen


def _convolved(seen: mx.array, weight: mx.array) -> mx.array:
    kernel = weight.shape[1]
    width = seen.shape[1] - kernel + 1
    taps = range(kernel)
    return _weighed([seen[:, tap : tap + width] for tap in taps], [weight[:, tap, 0] for tap in taps])


@partial(mx.compile, shapeless=True)
def _weighed(parts: list[mx.array], weights: list[mx.array]) -> mx.array:
    """Return ``silu`` of the weighted sum, which is taken in float32."""
    total = parts[0].astype(mx.float32) * weights[0].astype(mx.float32)
    for part, weight in zip(parts[1:], weights[1:], strict=True):
        total = total + part.astype(mx.float32) * weight.astype(mx.float32)
    return (total * mx.sigmoid(total)).astype(parts[0].dtype)


def latest(seen: mx.array, at: Positions) -> mx.array:
    """Return what the next pass begins from: the last tokens seen, up to each row's last real one."""
    if at.valid is None:
        return mx.contiguous(seen[:, at.width :])
    counts = at.once("counts", lambda: mx.array(at.counts, dtype=mx.int32))
    return latest_of(seen, counts, at.width)


def latest_of(seen: mx.array, counts: mx.array, width: int) -> mx.array:
    """Return the same for a pass of ``width`` that ends with the first ``counts`` tokens of each row, ``[rows]``."""
    places = counts[:, None] + mx.arange(seen.shape[1] - width)
    return mx.take_along_axis(seen, places[..., None], axis=1)
