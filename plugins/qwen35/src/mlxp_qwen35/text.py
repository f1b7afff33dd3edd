"""The Qwen 3.5 network for text, top to bottom: three gated delta nets, then full attention, and so on."""

from collections.abc import Sequence
from typing import cast

import mlx.core as mx
from mlx import nn

from mlxp_core.contracts import AttentionCache, Inputs, KVPolicy, LayerCache, Positions, StateCache
from mlxp_core.nn import GatedFeedForward, RoutedFeedForward
from mlxp_qwen35.config import Experts, Kind, Qwen35Config
from mlxp_qwen35.mixers import DeltaNet, GatedAttention
from mlxp_qwen35.norms import Norm
from mlxp_qwen35.positions import AxialRope, ShiftCache, Turn


class MixtureOfExperts(nn.Module):
    """The likeliest experts of a token, weighted, and a shared one with a gate of its own."""

    def __init__(self, hidden: int, experts: Experts) -> None:
        """Make router and experts."""
        super().__init__()
        self._chosen = experts.chosen
        self.gate = nn.Linear(hidden, experts.count, bias=False)
        self.switch_mlp = RoutedFeedForward(experts.count, hidden, experts.inner, "silu")
        self.shared_expert = GatedFeedForward(hidden, experts.shared, "silu")
        self.shared_expert_gate = nn.Linear(hidden, 1, bias=False)

    def __call__(self, x: mx.array) -> mx.array:
        """Map ``[rows, width, hidden]`` to the same shape."""
        likely = mx.softmax(self.gate(x).astype(mx.float32), axis=-1)
        best = mx.argpartition(-likely, self._chosen - 1, axis=-1)[..., : self._chosen]
        indices = mx.stop_gradient(best)  # who is chosen has no slope
        weights = mx.take_along_axis(likely, indices, axis=-1)
        weights = weights / weights.sum(axis=-1, keepdims=True)
        shared = mx.sigmoid(self.shared_expert_gate(x)) * self.shared_expert(x)
        return self.switch_mlp(x, indices, weights) + shared


class Block(nn.Module):
    """A mixer of tokens, then feed-forward, each behind a norm and added to the residual stream."""

    def __init__(self, config: Qwen35Config, kind: Kind) -> None:
        """Make one layer."""
        super().__init__()
        match kind:
            case "linear_attention":
                self.linear_attn = DeltaNet(config)
            case "full_attention":
                self.self_attn = GatedAttention(config)
        match config.feedforward:
            case Experts() as experts:
                self.mlp: nn.Module = MixtureOfExperts(config.hidden, experts)
            case inner:
                self.mlp = GatedFeedForward(config.hidden, inner, "silu")
        self.input_layernorm = Norm(config.hidden, config.eps)
        self.post_attention_layernorm = Norm(config.hidden, config.eps)
        self._kind: Kind = kind

    def __call__(self, x: mx.array, at: Positions, turn: Turn, cache: LayerCache) -> mx.array:
        """Map ``[rows, width, hidden]`` to the same shape."""
        y = self.input_layernorm(x)
        match self._kind:
            case "linear_attention":
                x = x + self.linear_attn(y, at, cast("StateCache", cache))
            case "full_attention":
                x = x + self.self_attn(y, at, turn, cast("AttentionCache", cache))
        added: mx.array = x + self.mlp(self.post_attention_layernorm(x))
        return added

    def make_cache(self, layer: int, policy: KVPolicy) -> LayerCache:
        """Return an empty cache of the mixer's kind, for one row."""
        match self._kind:
            case "linear_attention":
                return self.linear_attn.make_cache(layer, policy)
            case "full_attention":
                return policy.full(layer)


class Body(nn.Module):
    """The embedding table, the blocks and the last norm."""

    def __init__(self, config: Qwen35Config) -> None:
        """Make all but the head."""
        super().__init__()
        self.embed_tokens = nn.Embedding(config.vocabulary, config.hidden)
        self.layers = [Block(config, kind) for kind in config.kinds]
        self.norm = Norm(config.hidden, config.eps)


class Qwen35(nn.Module):
    """The whole network. Its first cache keeps what images shift; then comes one for each block."""

    def __init__(self, config: Qwen35Config) -> None:
        """Make body and head; when they are tied, the head is the embedding table."""
        super().__init__()
        self.model = Body(config)
        if not config.tied:
            self.lm_head = nn.Linear(config.hidden, config.vocabulary, bias=False)
        self._tied = config.tied
        self._rope = AxialRope(config.rotary)

    def __call__(self, inputs: Inputs, caches: Sequence[LayerCache]) -> mx.array:
        """Return the last hidden states, normed: ``[rows, width, hidden]``."""
        x = self.embed(inputs.tokens) if inputs.embeddings is None else inputs.embeddings
        shift, *states = caches
        turn = self._rope.turn(cast("ShiftCache", shift).place(inputs))
        for block, cache in zip(self.model.layers, states, strict=True):
            x = block(x, inputs.at, turn, cache)
        return self.model.norm(x)

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
        """Return empty caches for one row: for the shift of images, and for each block."""
        blocks = enumerate(self.model.layers)
        return [ShiftCache(), *(block.make_cache(layer, policy) for layer, block in blocks)]
