"""The Gemma 3 text network, top to bottom (Gemma Team: "Gemma 3 Technical Report", 2025)."""

from collections.abc import Sequence

import mlx.core as mx
from mlx import nn

from mlxp_core.contracts import AttentionCache, Inputs, KVPolicy, LayerCache
from mlxp_gemma3.config import Gemma3Config


class Norm(nn.Module):
    """Root mean square norm whose weight is stored around zero: ``x / rms(x) * (1 + w)``."""

    def __init__(self, dims: int, eps: float) -> None:
        super().__init__()
        self.weight = mx.zeros((dims,))
        self._eps = eps

    def __call__(self, x: mx.array) -> mx.array:
        """Normalise the last axis; ``1 + w`` is added in float32."""
        weight = (1.0 + self.weight.astype(mx.float32)).astype(x.dtype)
        return mx.fast.rms_norm(x, weight, self._eps)


class Attention(nn.Module):
    """Grouped-query attention with normed queries and keys; sliding layers rotate by a shorter base."""

    def __init__(self, config: Gemma3Config, *, sliding: bool) -> None:
        super().__init__()
        h, d = config.hidden_size, config.head_dim
        self._heads, self._kv_heads, self._dim = config.num_attention_heads, config.num_key_value_heads, d
        self._scale = config.query_pre_attn_scalar**-0.5
        self._base = config.rope_local_base_freq if sliding else config.rope_theta
        self.q_proj = nn.Linear(h, self._heads * d, bias=False)
        self.k_proj = nn.Linear(h, self._kv_heads * d, bias=False)
        self.v_proj = nn.Linear(h, self._kv_heads * d, bias=False)
        self.o_proj = nn.Linear(self._heads * d, h, bias=False)
        self.q_norm = Norm(d, config.rms_norm_eps)
        self.k_norm = Norm(d, config.rms_norm_eps)

    def __call__(self, x: mx.array, inputs: Inputs, cache: AttentionCache) -> mx.array:
        """Attend: ``[rows, width, hidden]`` to the same shape."""
        rows, width, _ = x.shape
        q = self.q_norm(self.q_proj(x).reshape(rows, width, self._heads, self._dim)).swapaxes(1, 2)
        k = self.k_norm(self.k_proj(x).reshape(rows, width, self._kv_heads, self._dim)).swapaxes(1, 2)
        v = self.v_proj(x).reshape(rows, width, self._kv_heads, self._dim).swapaxes(1, 2)
        out = cache.attend(self._rotate(q, inputs), self._rotate(k, inputs), v, inputs.at, scale=self._scale)
        return self.o_proj(out.swapaxes(1, 2).reshape(rows, width, -1))

    def _rotate(self, x: mx.array, inputs: Inputs) -> mx.array:
        return mx.fast.rope(
            x, self._dim, traditional=False, base=self._base, scale=1.0, offset=inputs.at.offset
        )


class FeedForward(nn.Module):
    """A gated feed-forward with a tanh-approximated GELU."""

    def __init__(self, hidden: int, inner: int) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(hidden, inner, bias=False)
        self.up_proj = nn.Linear(hidden, inner, bias=False)
        self.down_proj = nn.Linear(inner, hidden, bias=False)

    def __call__(self, x: mx.array) -> mx.array:
        """Map ``[..., hidden]`` to the same shape."""
        return self.down_proj(nn.gelu_approx(self.gate_proj(x)) * self.up_proj(x))


class Block(nn.Module):
    """Attention and feed-forward, each between two norms."""

    def __init__(self, config: Gemma3Config, *, sliding: bool) -> None:
        super().__init__()
        h, eps = config.hidden_size, config.rms_norm_eps
        self.self_attn = Attention(config, sliding=sliding)
        self.mlp = FeedForward(h, config.intermediate_size)
        self.input_layernorm = Norm(h, eps)
        self.post_attention_layernorm = Norm(h, eps)
        self.pre_feedforward_layernorm = Norm(h, eps)
        self.post_feedforward_layernorm = Norm(h, eps)

    def __call__(self, x: mx.array, inputs: Inputs, cache: AttentionCache) -> mx.array:
        """Map ``[rows, width, hidden]`` to the same shape."""
        x = x + self.post_attention_layernorm(self.self_attn(self.input_layernorm(x), inputs, cache))
        return x + self.post_feedforward_layernorm(self.mlp(self.pre_feedforward_layernorm(x)))


class Body(nn.Module):
    """The embedding table, the blocks and the last norm."""

    def __init__(self, config: Gemma3Config) -> None:
        super().__init__()
        self.embed_tokens = nn.Embedding(config.vocab_size, config.hidden_size)
        self.layers = [Block(config, sliding=kind == "sliding_attention") for kind in config.layer_types]
        self.norm = Norm(config.hidden_size, config.rms_norm_eps)


class Gemma3(nn.Module):
    """The whole network; the head is the embedding table."""

    def __init__(self, config: Gemma3Config) -> None:
        super().__init__()
        self.model = Body(config)
        self._config = config

    def __call__(self, inputs: Inputs, caches: Sequence[LayerCache]) -> mx.array:
        """Return ``[rows, width, hidden]``."""
        x = self.embed(inputs.tokens) if inputs.embeddings is None else inputs.embeddings
        for block, cache in zip(self.model.layers, caches, strict=True):
            x = block(x, inputs, cache)
        return self.model.norm(x)

    def embed(self, tokens: mx.array) -> mx.array:
        """Look the tokens up, scaled by the square root of the width in the model's own type."""
        x = self.model.embed_tokens(tokens)
        return x * mx.array(self._config.hidden_size**0.5, x.dtype)

    def logits(self, hidden: mx.array) -> mx.array:
        """Score every token."""
        return self.model.embed_tokens.as_linear(hidden)

    def make_caches(self, policy: KVPolicy) -> list[LayerCache]:
        """Return a full or a sliding cache for each layer."""
        window = self._config.sliding_window
        return [
            policy.full(layer) if kind == "full_attention" else policy.sliding(layer, window)
            for layer, kind in enumerate(self._config.layer_types)
        ]
