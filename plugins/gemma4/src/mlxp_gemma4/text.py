"""The Gemma 4 text network, top to bottom: all of its sizes, dense or with experts.

What sets it apart: sliding and full layers have heads of different sizes and rotate differently; queries and keys are
normed with weights, values without, and scores are not scaled; the last layers may read the keys and values of earlier
ones; an embedding of its own may enter at every layer; logits are bounded by a soft cap.
"""

from collections.abc import Sequence
from functools import partial
from typing import cast

import mlx.core as mx
from mlx import nn

from mlxp_core.contracts import AttentionCache, Inputs, KVPolicy, LayerCache, Positions
from mlxp_core.nn import GatedFeedForward, Rope, RoutedFeedForward, gated, merge_heads, split_heads
from mlxp_gemma4.config import Gemma4Config, Layer
from mlxp_gemma4.experts import Router
from mlxp_gemma4.overlay import overlays


class Attention(nn.Module):
    """Grouped-query attention of one layer; the projections of keys and values exist where they are its own."""

    def __init__(self, config: Gemma4Config, layer: Layer) -> None:
        """Make the projections and norms that ``layer`` has."""
        super().__init__()
        hidden, dim = config.hidden, layer.head_dim
        self._heads, self._layer, self._eps = config.heads, layer, config.eps
        self._rope = Rope.proportional(dim, layer.rope.theta, layer.rope.turned)
        self.q_proj = nn.Linear(hidden, config.heads * dim, bias=False)
        self.o_proj = nn.Linear(config.heads * dim, hidden, bias=False)
        self.q_norm = nn.RMSNorm(dim, config.eps)
        if layer.source is None:
            self.k_proj = nn.Linear(hidden, layer.kv_heads * dim, bias=False)
            self.k_norm = nn.RMSNorm(dim, config.eps)
            if not layer.values_are_keys:
                self.v_proj = nn.Linear(hidden, layer.kv_heads * dim, bias=False)

    def __call__(
        self, x: mx.array, at: Positions, cache: AttentionCache, overlay: mx.array | None
    ) -> mx.array:
        """Attend: ``[rows, width, hidden]`` to the same shape."""
        q = self._rope(self.q_norm(split_heads(self.q_proj(x), self._heads)), at)
        k, v = (None, None) if self._layer.source is not None else self._keys_and_values(x, at)
        return self.o_proj(merge_heads(cache.attend(q, k, v, at, scale=1.0, overlay=overlay)))

    def _keys_and_values(self, x: mx.array, at: Positions) -> tuple[mx.array, mx.array]:
        """Return what this layer stores: ``[rows, kv_heads, width, dim]`` both."""
        projected = split_heads(self.k_proj(x), self._layer.kv_heads)
        values = (
            projected if self._layer.values_are_keys else split_heads(self.v_proj(x), self._layer.kv_heads)
        )
        return self._rope(self.k_norm(projected), at), mx.fast.rms_norm(values, None, self._eps)


class Block(nn.Module):
    """Attention, feed-forward, and the layer's own embedding: each between norms, each added to the residual stream."""

    def __init__(self, config: Gemma4Config, layer: Layer) -> None:
        """Make one layer."""
        super().__init__()
        norm = partial(nn.RMSNorm, config.hidden, config.eps)
        self.self_attn = Attention(config, layer)
        self.mlp = GatedFeedForward(config.hidden, layer.inner, "gelu_tanh")
        self.input_layernorm = norm()
        self.post_attention_layernorm = norm()
        self.pre_feedforward_layernorm = norm()
        self.post_feedforward_layernorm = norm()
        self.layer_scalar = mx.ones((1,))
        self._routed, self._gated = config.experts is not None, gated("gelu_tanh")
        if config.experts is not None:
            count, inner = config.experts.count, config.experts.inner
            self.router = Router(config.hidden, config.experts, config.eps)
            self.experts = RoutedFeedForward(count, config.hidden, inner, "gelu_tanh")
            self.post_feedforward_layernorm_1 = norm()
            self.pre_feedforward_layernorm_2 = norm()
            self.post_feedforward_layernorm_2 = norm()
        if config.per_layer is not None:
            self.per_layer_input_gate = nn.Linear(config.hidden, config.per_layer.width, bias=False)
            self.per_layer_projection = nn.Linear(config.per_layer.width, config.hidden, bias=False)
            self.post_per_layer_input_norm = norm()

    def __call__(
        self,
        x: mx.array,
        at: Positions,
        cache: AttentionCache,
        overlay: mx.array | None,
        own: mx.array | None,
    ) -> mx.array:
        """Map ``[rows, width, hidden]`` to the same shape; ``own`` is this layer's embedding, if it has one."""
        attended = self.self_attn(self.input_layernorm(x), at, cache, overlay)
        x = x + self.post_attention_layernorm(attended)
        x = x + self.post_feedforward_layernorm(self._fed_forward(x))
        if own is not None:
            let_in = self.per_layer_projection(self._gated(self.per_layer_input_gate(x), own))
            x = x + self.post_per_layer_input_norm(let_in)
        return x * self.layer_scalar

    def _fed_forward(self, x: mx.array) -> mx.array:
        """Return the dense feed-forward's answer; where there are experts, theirs is added."""
        dense: mx.array = self.mlp(self.pre_feedforward_layernorm(x))
        if not self._routed:
            return dense
        routed = self.experts(self.pre_feedforward_layernorm_2(x), *self.router(x))
        both: mx.array = self.post_feedforward_layernorm_1(dense) + self.post_feedforward_layernorm_2(routed)
        return both


class Body(nn.Module):
    """The embedding tables, the blocks and the last norm."""

    def __init__(self, config: Gemma4Config) -> None:
        """Make all but the head."""
        super().__init__()
        self._config = config
        self.embed_tokens = nn.Embedding(config.vocabulary, config.hidden)
        self.layers = [Block(config, layer) for layer in config.layers]
        self.norm = nn.RMSNorm(config.hidden, config.eps)
        if config.per_layer is not None:
            width = len(config.layers) * config.per_layer.width
            self.embed_tokens_per_layer = nn.Embedding(config.per_layer.vocabulary, width)
            self.per_layer_model_projection = nn.Linear(config.hidden, width, bias=False)
            self.per_layer_projection_norm = nn.RMSNorm(config.per_layer.width, config.eps)

    def embed(self, tokens: mx.array) -> mx.array:
        """Look ``[rows, width]`` tokens up, times the root of the width, which takes the table's type first."""
        found: mx.array = self.embed_tokens(tokens) * self._config.hidden**0.5
        return found

    def per_layer(self, tokens: mx.array, x: mx.array) -> list[mx.array | None]:
        """Return every layer's own embedding, ``[rows, width, per_layer]``: half the token's, half made from ``x``.

        Args:
            tokens: ``[rows, width]``; placeholders take the embedding of the padding token.
            x: ``[rows, width, hidden]``, what enters the first layer, image features included.
        """
        config = self._config
        if config.per_layer is None:
            return [None] * len(config.layers)
        for placeholder in config.placeholders:
            tokens = mx.where(tokens == placeholder, config.pad, tokens)
        shape = (*tokens.shape, len(config.layers), config.per_layer.width)
        looked_up = self.embed_tokens_per_layer(tokens).reshape(shape) * config.per_layer.width**0.5
        made = (self.per_layer_model_projection(x) * config.hidden**-0.5).reshape(shape)
        both = (self.per_layer_projection_norm(made) + looked_up) * 2**-0.5
        return [both[:, :, layer] for layer in range(len(config.layers))]


class Gemma4(nn.Module):
    """The whole text network."""

    def __init__(self, config: Gemma4Config) -> None:
        """Make body and head; when they are tied, the head is the embedding table."""
        super().__init__()
        self._config = config
        self.model = Body(config)
        if not config.tied:
            self.lm_head = nn.Linear(config.hidden, config.vocabulary, bias=False)

    def __call__(self, inputs: Inputs, caches: Sequence[LayerCache]) -> mx.array:
        """Return the last hidden states, normed: ``[rows, width, hidden]``."""
        x = self.embed(inputs.tokens) if inputs.embeddings is None else inputs.embeddings
        over, own = overlays(self._config, inputs), self.model.per_layer(inputs.tokens, x)
        for number, (block, layer) in enumerate(zip(self.model.layers, self._config.layers, strict=True)):
            cache = cast("AttentionCache", caches[number if layer.source is None else layer.source])
            overlay = over.full if layer.window is None else over.sliding
            x = block(x, inputs.at, cache, overlay, own[number])
        last: mx.array = self.model.norm(x)
        return last

    def embed(self, tokens: mx.array) -> mx.array:
        """Look up ``[rows, width]`` tokens: ``[rows, width, hidden]``, scaled."""
        return self.model.embed(tokens)

    def logits(self, hidden: mx.array) -> mx.array:
        """Score every token: ``[..., hidden]`` to ``[..., vocabulary]``, between plus and minus the soft cap."""
        head = self.model.embed_tokens.as_linear if self._config.tied else self.lm_head
        scores: mx.array = head(hidden)
        return scores if self._config.soft_cap is None else capped(scores, self._config.soft_cap)

    def make_caches(self, policy: KVPolicy) -> list[LayerCache]:
        """Return a full or a sliding cache for every layer with keys of its own, for one row."""
        return [
            policy.full(number) if layer.window is None else policy.sliding(number, layer.window)
            for number, layer in enumerate(self._config.own_layers)
        ]


@partial(mx.compile, shapeless=True)
def capped(x: mx.array, bound: float) -> mx.array:
    """Return ``bound * tanh(x / bound)``."""
    return mx.tanh(x / bound) * bound
