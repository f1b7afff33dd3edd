"""The two ways in which Qwen 3.5 mixes tokens: full attention with a gate, and a gated delta net."""

from functools import partial
from typing import cast

import mlx.core as mx
from mlx import nn

from mlxp_core.contracts import AttentionCache, KVPolicy, Positions, StateCache
from mlxp_core.nn import merge_heads, split_heads
from mlxp_qwen35.config import Qwen35Config
from mlxp_qwen35.conv import CausalConv, latest, latest_of
from mlxp_qwen35.delta import gated_delta
from mlxp_qwen35.norms import GatedNorm, Norm
from mlxp_qwen35.positions import Turn

LENGTH_EPS = 1e-6
"""Added to the squared length of queries and keys before they are divided by their length."""


class GatedAttention(nn.Module):
    """Grouped-query attention whose answer each head gates; the gate comes out of the query projection."""

    def __init__(self, config: Qwen35Config) -> None:
        """Make projections and norms."""
        super().__init__()
        hidden, dim = config.hidden, config.head_dim
        self._heads, self._kv_heads, self._scale = config.heads, config.kv_heads, dim**-0.5
        self.q_proj = nn.Linear(hidden, 2 * config.heads * dim, bias=False)
        self.k_proj = nn.Linear(hidden, config.kv_heads * dim, bias=False)
        self.v_proj = nn.Linear(hidden, config.kv_heads * dim, bias=False)
        self.o_proj = nn.Linear(config.heads * dim, hidden, bias=False)
        self.q_norm = Norm(dim, config.eps)
        self.k_norm = Norm(dim, config.eps)

    def __call__(self, x: mx.array, at: Positions, turn: Turn, cache: AttentionCache) -> mx.array:
        """Attend: ``[rows, width, hidden]`` to the same shape."""
        asked, gate = mx.split(split_heads(self.q_proj(x), self._heads), 2, axis=-1)
        q = turn(self.q_norm(asked))
        k = turn(self.k_norm(split_heads(self.k_proj(x), self._kv_heads)))
        v = split_heads(self.v_proj(x), self._kv_heads)
        out = cache.attend(q, k, v, at, scale=self._scale)
        return self.o_proj(merge_heads(out * mx.sigmoid(gate)))


class DeltaNet(nn.Module):
    """A gated delta net: convolution, delta rule, gated norm (see ``delta`` for the rule and its sources)."""

    def __init__(self, config: Qwen35Config) -> None:
        """Make projections, convolution, decays and norm."""
        super().__init__()
        shape, hidden = config.delta, config.hidden
        self._shape = shape
        self.in_proj_qkv = nn.Linear(hidden, shape.channels, bias=False)
        self.in_proj_z = nn.Linear(hidden, shape.heads * shape.value_dim, bias=False)
        self.in_proj_b = nn.Linear(hidden, shape.heads, bias=False)
        self.in_proj_a = nn.Linear(hidden, shape.heads, bias=False)
        self.conv1d = CausalConv(shape.channels, shape.kernel)
        self.A_log = mx.zeros((shape.heads,))
        self.dt_bias = mx.zeros((shape.heads,))
        self.norm = GatedNorm(shape.value_dim, config.eps)
        self.out_proj = nn.Linear(shape.heads * shape.value_dim, hidden, bias=False)

    def __call__(self, x: mx.array, at: Positions, cache: StateCache) -> mx.array:
        """Mix: ``[rows, width, hidden]`` to the same shape. Sets the state of the rows anew."""
        rows, width, _ = x.shape
        shape = self._shape
        before, memory = cache.state
        mixed, seen = self.conv1d(self.in_proj_qkv(x), before)
        q, k, v = mx.split(
            mixed, [shape.key_heads * shape.key_dim, 2 * shape.key_heads * shape.key_dim], axis=-1
        )
        g, b = _gates(self.in_proj_a(x), self.in_proj_b(x), self.A_log, self.dt_bias)
        read = (
            _unit(q.reshape(rows, width, shape.key_heads, shape.key_dim)) * shape.key_dim**-0.5,
            _unit(k.reshape(rows, width, shape.key_heads, shape.key_dim)),
            v.reshape(rows, width, shape.heads, shape.value_dim).astype(mx.float32),
            g,
            b,
        )
        answers, after = gated_delta(*_real(read, at.valid), memory)
        if at.valid is not None and 0 in at.counts:  # a row that sits the pass out keeps every bit
            after = mx.where(at.valid[:, :1, None, None], after, memory)
        cache.state = (latest(seen, at), after)
        if at.revocable:
            cache.remember(at, lambda counts: _after(counts, seen, read, memory))
        z = self.in_proj_z(x).reshape(answers.shape)
        return self.out_proj(self.norm(answers, z).reshape(rows, width, -1))

    def make_cache(self, layer: int, policy: KVPolicy) -> StateCache:
        """Return an empty cache: the last tokens before the convolution, and the float32 matrices of the heads."""
        shape = self._shape
        shapes = [(shape.kernel - 1, shape.channels), (shape.heads, shape.value_dim, shape.key_dim)]
        return policy.state(layer, shapes, [self.conv1d.weight.dtype, mx.float32])


Read = tuple[mx.array, mx.array, mx.array, mx.array, mx.array]
"""What the delta rule reads of a pass: queries, keys, values, log decays, rates."""


def _real(read: Read, valid: mx.array | None) -> Read:
    """Return what is read where only tokens of ``valid``, ``[rows, width]``, are real; ``None`` = all are."""
    if valid is None:
        return read
    q, k, v, g, b = read
    g, b = (mx.where(valid[..., None], part, 0) for part in (g, b))  # padding neither decays nor corrects
    return q, k, v, g, b


def _after(counts: mx.array, seen: mx.array, read: Read, memory: mx.array) -> tuple[mx.array, mx.array]:
    """Return the state that a pass leaves of its first ``counts`` tokens, ``[rows]``: the rule is run once more."""
    width = read[0].shape[1]
    _, after = gated_delta(*_real(read, mx.arange(width) < counts[:, None]), memory)
    kept = mx.where((counts > 0)[:, None, None, None], after, memory)
    return latest_of(seen, counts, width), kept


def _unit(x: mx.array) -> mx.array:
    """Return float32 ``x / |x|`` over the last axis; the norm adds its eps to the mean, so a part of ours is due."""
    dims = x.shape[-1]
    return cast("mx.array", mx.fast.rms_norm(x.astype(mx.float32), None, LENGTH_EPS / dims) * dims**-0.5)


@partial(mx.compile, shapeless=True)
def _gates(a: mx.array, b: mx.array, log_rate: mx.array, bias: mx.array) -> tuple[mx.array, mx.array]:
    """Return log decays ``-exp(A_log) softplus(a + dt_bias)`` and rates ``sigmoid(b)``, float32."""
    softplus = mx.logaddexp(a.astype(mx.float32) + bias.astype(mx.float32), 0)
    return -mx.exp(log_rate.astype(mx.float32)) * softplus, mx.sigmoid(b.astype(mx.float32))
