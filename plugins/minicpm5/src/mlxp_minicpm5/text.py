"""The MiniCPM5 network, top to bottom: a llama (Touvron et al., 2023) with heads of a size of their own."""

from collections.abc import Sequence
from typing import cast

import mlx.core as mx
from mlx import nn

from mlxp_core.contracts import AttentionCache, Inputs, KVPolicy, LayerCache, Positions
from mlxp_core.nn import GatedFeedForward, Rope, merge_heads, split_heads
from mlxp_minicpm5.config import MiniCPM5Config


class Attention(nn.Module):
    """Grouped-query attention over rotated queries and keys."""

    def __init__(self, config: MiniCPM5Config) -> None:
        """Make the four projections."""
        super().__init__()
        hidden, dim, bias = config.hidden, config.head_dim, config.attention_bias
        self._heads, self._kv_heads, self._scale = config.heads, config.kv_heads, dim**-0.5
        self._rope = Rope.plain(dim, config.theta)
        self.q_proj = nn.Linear(hidden, config.heads * dim, bias=bias)
        self.k_proj = nn.Linear(hidden, config.kv_heads * dim, bias=bias)
        self.v_proj = nn.Linear(hidden, config.kv_heads * dim, bias=bias)
        self.o_proj = nn.Linear(config.heads * dim, hidden, bias=bias)

    def __call__(self, x: mx.array, at: Positions, cache: AttentionCache) -> mx.array:
        """Attend: ``[rows, width, hidden]`` to the same shape."""
        q = self._rope(split_heads(self.q_proj(x), self._heads), at)
        k = self._rope(split_heads(self.k_proj(x), self._kv_heads), at)
        v = split_heads(self.v_proj(x), self._kv_heads)
        return self.o_proj(merge_heads(cache.attend(q, k, v, at, scale=self._scale)))


class Block(nn.Module):
    """Attention, then feed-forward, each behind a norm and added to the residual stream."""

    def __init__(self, config: MiniCPM5Config) -> None:
        """Make one layer."""
        super().__init__()
        self.self_attn = Attention(config)
        self.mlp = GatedFeedForward(config.hidden, config.inner, "silu", bias=config.mlp_bias)
        self.input_layernorm = nn.RMSNorm(config.hidden, config.eps)
        self.post_attention_layernorm = nn.RMSNorm(config.hidden, config.eps)

    def __call__(self, x: mx.array, at: Positions, cache: AttentionCache) -> mx.array:
        """Map ``[rows, width, hidden]`` to the same shape."""
        x = x + self.self_attn(self.input_layernorm(x), at, cache)
        return x + self.mlp(self.post_attention_layernorm(x))


class Body(nn.Module):
    """The embedding table, the blocks and the last norm."""

    def __init__(self, config: MiniCPM5Config) -> None:
        """Make all but the head."""
        super().__init__()
        self.embed_tokens = nn.Embedding(config.vocabulary, config.hidden)
        self.layers = [Block(config) for _ in range(config.layers)]
        self.norm = nn.RMSNorm(config.hidden, config.eps)


class MiniCPM5(nn.Module):
    """The whole network."""

    def __init__(self, config: MiniCPM5Config) -> None:
        """Make body and head; when they are tied, the head is the embedding table."""
        super().__init__()
        self.model = Body(config)
        if not config.tied:
            self.lm_head = nn.Linear(config.hidden, config.vocabulary, bias=False)
        self._tied = config.tied

    def __call__(self, inputs: Inputs, caches: Sequence[LayerCache]) -> mx.array:
        """Return the last hidden states, normed: ``[rows, width, hidden]``."""
        x = self.embed(inputs.tokens) if inputs.embeddings is None else inputs.embeddings
        for block, cache in zip(self.model.layers, caches, strict=True):
            x = block(x, inputs.at, cast("AttentionCache", cache))
        last: mx.array = self.model.norm(x)
        return last

    def embed(self, tokens: mx.array) -> mx.array:
        """Look up ``[rows, width]`` tokens: ``[rows, width, hidden]``."""
        found: mx.array = self.model.embed_tokens(tokens)
        return found

    def logits(self, hidden: mx.array) -> mx.array:
        """Score every token: ``[..., hidden]`` to ``[..., vocabulary]``."""
        head = self.model.embed_tokens.as_linear if self._tied else self.lm_head
        scores: mx.array = head(hidden)
        return scores

    def make_caches(self, policy: KVPolicy) -> list[LayerCache]:
        """Return a full cache for every layer, for one row."""
        return [policy.full(layer) for layer in range(len(self.model.layers))]
