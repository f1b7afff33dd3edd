"""Predict each token from the one before it."""

from collections.abc import Sequence

import mlx.core as mx
from mlx import nn

from mlxp_core.contracts import Inputs, KVPolicy, LayerCache


class Parrot(nn.Module):
    """Small enough to read, real enough to serve."""

    def __init__(self, vocabulary: int, hidden: int) -> None:
        super().__init__()
        self.embed_tokens = nn.Embedding(vocabulary, hidden)
        self.head = nn.Linear(hidden, vocabulary, bias=False)

    def __call__(self, inputs: Inputs, caches: Sequence[LayerCache]) -> mx.array:
        """Return the embedding itself: this bird has no memory."""
        return self.embed(inputs.tokens) if inputs.embeddings is None else inputs.embeddings

    def embed(self, tokens: mx.array) -> mx.array:
        """Look the tokens up."""
        return self.embed_tokens(tokens)

    def logits(self, hidden: mx.array) -> mx.array:
        """Score every token."""
        return self.head(hidden)

    def make_caches(self, policy: KVPolicy) -> list[LayerCache]:
        """Return none: nothing is remembered."""
        return []
