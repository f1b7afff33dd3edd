"""A packed embedding table that says what type it speaks in."""

import mlx.core as mx
from mlx import nn


class TypedEmbedding(nn.QuantizedEmbedding):
    """A ``QuantizedEmbedding`` whose answers are of one type.

    In the modes whose scales are of 8 bits, MLX unpacks to bfloat16, whatever the rest of the network computes in.
    """

    def __init__(self, table: nn.QuantizedEmbedding, dtype: mx.Dtype) -> None:
        """Speak for ``table``, in ``dtype``."""
        nn.Module.__init__(self)
        self.weight, self.scales, self.biases = table["weight"], table["scales"], table.get("biases")
        self.group_size, self.bits, self.mode = table.group_size, table.bits, table.mode
        self.num_embeddings, self.dims = table.num_embeddings, table.dims
        self._dtype = dtype
        self.freeze()

    def __call__(self, x: mx.array) -> mx.array:
        """Return the rows of the tokens ``x``: ``[..., dims]``."""
        rows: mx.array = super().__call__(x)
        return rows.astype(self._dtype)
