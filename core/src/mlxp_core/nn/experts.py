"""Mixtures of experts (Shazeer et al., 2017): stacks of linear layers, and the gated feed-forward routed through them.

A token is sent to ``k`` experts; what each says is weighted and summed. Who chooses the experts, and with which
weights, is the family's business.
"""

import mlx.core as mx
from mlx import nn

from mlxp_core.nn.feedforward import Gate, gated


class ExpertStack(nn.Module):
    """One linear layer without bias for each expert; ``weight`` is ``[experts, outputs, inputs]``."""

    def __init__(self, experts: int, inputs: int, outputs: int) -> None:
        """Map ``inputs`` dimensions to ``outputs``, in as many ways as there are experts."""
        super().__init__()
        bound = inputs**-0.5
        self.weight = mx.random.uniform(-bound, bound, (experts, outputs, inputs))

    def __call__(self, x: mx.array, indices: mx.array, *, ascending: bool = False) -> mx.array:
        """Send every token through the experts chosen for it.

        Args:
            x: ``[tokens..., inputs]``.
            indices: ``[tokens..., k]``, the experts of each token.
            ascending: whether ``indices``, flattened, never fall: each expert is then read once.

        Returns:
            ``[tokens..., k, outputs]``.
        """
        return _gathered(x, self.weight, indices, ascending=ascending)

    def to_quantized(
        self, *, group_size: int | None = None, bits: int | None = None, mode: str = "affine"
    ) -> "QuantizedExpertStack":
        """Return the same stack with packed weights, as ``mlx.nn.Linear.to_quantized`` does.

        Raises:
            ValueError: MLX has no such quantization, or ``inputs`` is no multiple of ``group_size``.
        """
        return QuantizedExpertStack(self.weight, group_size=group_size, bits=bits, mode=mode)


class QuantizedExpertStack(nn.Module):
    """An ``ExpertStack`` with packed weights: ``weight``, ``scales`` and, in affine mode, ``biases``."""

    def __init__(self, weight: mx.array, *, group_size: int | None, bits: int | None, mode: str) -> None:
        """Pack ``weight``, ``[experts, outputs, inputs]``; ``None`` is the mode's own default."""
        super().__init__()
        self.weight, self.scales, *biases = mx.quantize(weight, group_size, bits, mode=mode)
        self.biases = biases[0] if biases else None
        self.group_size, self.bits, self.mode = group_size, bits, mode
        self.freeze()

    def __call__(self, x: mx.array, indices: mx.array, *, ascending: bool = False) -> mx.array:
        """Send every token through the experts chosen for it; see ``ExpertStack``."""
        found = mx.gather_qmm(
            x[..., None, None, :],
            self.weight,
            self.scales,
            self.biases,
            rhs_indices=indices,
            transpose=True,
            group_size=self.group_size,
            bits=self.bits,
            mode=self.mode,
            sorted_indices=ascending,
        )
        return found.squeeze(-2)


class RoutedFeedForward(nn.Module):
    """A gated feed-forward (see ``GatedFeedForward``) for each expert, and the sum of what the chosen ones say."""

    def __init__(self, experts: int, hidden: int, inner: int, gate: Gate) -> None:
        """Map ``hidden`` dimensions to ``inner`` ones and back, in as many ways as there are experts."""
        super().__init__()
        self.gate_proj = ExpertStack(experts, hidden, inner)
        self.up_proj = ExpertStack(experts, hidden, inner)
        self.down_proj = ExpertStack(experts, inner, hidden)
        self._experts, self._gated = experts, gated(gate)

    def __call__(self, x: mx.array, indices: mx.array, weights: mx.array) -> mx.array:
        """Return the weighted sum of the experts' answers.

        Args:
            x: ``[tokens..., hidden]``.
            indices: ``[tokens..., k]``, the experts of each token.
            weights: ``[tokens..., k]``, how much each of them counts; the sum is taken in their type.

        Returns:
            ``[tokens..., hidden]``, in the type of ``x``.
        """
        answers = self._sorted(x, indices) if indices.size >= self._experts else self._direct(x, indices)
        summed: mx.array = (answers * weights[..., None]).sum(axis=-2)
        return summed.astype(x.dtype)

    def _direct(self, x: mx.array, indices: mx.array) -> mx.array:
        """Ask in the order of the tokens: ``[tokens..., k, hidden]``."""
        inner = self._gated(self.gate_proj(x, indices), self.up_proj(x, indices))
        return self.down_proj(inner, indices[..., None]).squeeze(-2)

    def _sorted(self, x: mx.array, indices: mx.array) -> mx.array:
        """Ask in the order of the experts, so that tokens of one expert share its weights; same result."""
        choices = indices.flatten()
        order = mx.argsort(choices)
        tokens = x.reshape(-1, x.shape[-1])[order // indices.shape[-1]]
        chosen = choices[order][:, None]
        inner = self._gated(
            self.gate_proj(tokens, chosen, ascending=True), self.up_proj(tokens, chosen, ascending=True)
        )
        answers = self.down_proj(inner.squeeze(-2), chosen, ascending=True).squeeze(-2)
        return answers[mx.argsort(order)].reshape(*indices.shape, -1)


def _gathered(x: mx.array, weight: mx.array, indices: mx.array, *, ascending: bool) -> mx.array:
    kind = mx.result_type(x, weight)
    if mx.default_device().type == mx.DeviceType.cpu:  # whose gathered product knows float32 only
        x = x.astype(mx.float32)
    # On CUDA (MLX 0.32.4, H200) the product over sorted indices is wrong by several times the values' own size,
    # the one over the same indices called unsorted is right; so only Metal is told that they are sorted.
    found = mx.gather_mm(
        x[..., None, None, :],
        weight.swapaxes(-1, -2),
        rhs_indices=indices,
        sorted_indices=ascending and mx.metal.is_available(),
    )
    return found.squeeze(-2).astype(kind)
