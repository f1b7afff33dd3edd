"""The routed half of a feed-forward in the models with experts: who serves a token, and how much each counts."""

import mlx.core as mx
from mlx import nn

from mlxp_gemma4.config import Experts


class Router(nn.Module):
    """Scores every expert for every token, and picks the best."""

    def __init__(self, hidden: int, experts: Experts, eps: float) -> None:
        """Score ``experts.count`` experts from ``hidden`` dimensions."""
        super().__init__()
        self._chosen, self._eps, self._scale = experts.chosen, eps, hidden**-0.5
        self.proj = nn.Linear(hidden, experts.count, bias=False)
        self.scale = mx.ones((hidden,))
        self.per_expert_scale = mx.ones((experts.count,))

    def __call__(self, x: mx.array) -> tuple[mx.array, mx.array]:
        """Choose for each token of ``[rows, width, hidden]``, from the residual stream as it is.

        Returns:
            The experts chosen, and how much each counts, in float32: ``[rows, width, chosen]`` both.
        """
        scores = self.proj(mx.fast.rms_norm(x, self.scale * self._scale, self._eps)).astype(mx.float32)
        best = mx.argpartition(scores, kth=-self._chosen, axis=-1)[..., -self._chosen :]
        indices = mx.stop_gradient(best)  # who is chosen has no slope
        # A softmax over the chosen scores is the one over all of them, brought back to a sum of one.
        shares = mx.softmax(mx.take_along_axis(scores, indices, axis=-1), axis=-1)
        return indices, shares * self.per_expert_scale[indices]
