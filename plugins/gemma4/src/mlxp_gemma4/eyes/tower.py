"""Gemma 4's tower: a transformer over patches, whose neighbours are then pooled into soft tokens.

What sets it apart: half of each head turns by the column of the patch and half by its row, on top of learned positions;
queries and keys are normed with weights, values without, and scores are not scaled; in small models, what goes into a
projection and what comes out are clipped to bounds that were learned.
"""

from functools import partial

import mlx.core as mx
from mlx import nn

from mlxp_core.nn import gated, merge_heads, split_heads
from mlxp_gemma4.eyes.config import TowerConfig
from mlxp_gemma4.eyes.patches import patches_of

Grid = tuple[int, int]
"""(rows, columns) of patches."""


class Projection(nn.Module):
    """A linear map without bias; the bounds exist where they are used."""

    def __init__(self, inputs: int, outputs: int, *, clipped: bool) -> None:
        """Map ``inputs`` dimensions to ``outputs`` ones."""
        super().__init__()
        self.linear = nn.Linear(inputs, outputs, bias=False)
        self._clipped = clipped
        if clipped:
            self.input_min, self.input_max = mx.array(-mx.inf), mx.array(mx.inf)
            self.output_min, self.output_max = mx.array(-mx.inf), mx.array(mx.inf)

    def __call__(self, x: mx.array) -> mx.array:
        """Map ``[..., inputs]`` to ``[..., outputs]``."""
        if not self._clipped:
            return self.linear(x)
        return mx.clip(
            self.linear(mx.clip(x, self.input_min, self.input_max)), self.output_min, self.output_max
        )


class Attention(nn.Module):
    """Every patch attends to all of the image."""

    def __init__(self, config: TowerConfig) -> None:
        """Make projections and norms."""
        super().__init__()
        width = config.heads * config.head_dim
        projection = partial(Projection, clipped=config.clipped)
        self._heads, self._theta, self._eps = config.heads, config.theta, config.eps
        self.q_proj = projection(config.hidden, width)
        self.k_proj = projection(config.hidden, width)
        self.v_proj = projection(config.hidden, width)
        self.o_proj = projection(width, config.hidden)
        self.q_norm = nn.RMSNorm(config.head_dim, config.eps)
        self.k_norm = nn.RMSNorm(config.head_dim, config.eps)

    def __call__(self, x: mx.array, grid: Grid) -> mx.array:
        """Attend: ``[1, patches, hidden]`` to the same shape."""
        q = turned(self.q_norm(split_heads(self.q_proj(x), self._heads)), grid, self._theta)
        k = turned(self.k_norm(split_heads(self.k_proj(x), self._heads)), grid, self._theta)
        v = mx.fast.rms_norm(split_heads(self.v_proj(x), self._heads), None, self._eps)
        return self.o_proj(merge_heads(mx.fast.scaled_dot_product_attention(q, k, v, scale=1.0)))


class FeedForward(nn.Module):
    """GeGLU between projections that may be clipped."""

    def __init__(self, config: TowerConfig) -> None:
        """Make the projections."""
        super().__init__()
        projection = partial(Projection, clipped=config.clipped)
        self.gate_proj = projection(config.hidden, config.inner)
        self.up_proj = projection(config.hidden, config.inner)
        self.down_proj = projection(config.inner, config.hidden)
        self._gated = gated("gelu_tanh")

    def __call__(self, x: mx.array) -> mx.array:
        """Map ``[1, patches, hidden]`` to the same shape."""
        return self.down_proj(self._gated(self.gate_proj(x), self.up_proj(x)))


class Block(nn.Module):
    """Attention and feed-forward, each between norms, each added to the residual stream."""

    def __init__(self, config: TowerConfig) -> None:
        """Make one layer."""
        super().__init__()
        norm = partial(nn.RMSNorm, config.hidden, config.eps)
        self.self_attn = Attention(config)
        self.mlp = FeedForward(config)
        self.input_layernorm = norm()
        self.post_attention_layernorm = norm()
        self.pre_feedforward_layernorm = norm()
        self.post_feedforward_layernorm = norm()

    def __call__(self, x: mx.array, grid: Grid) -> mx.array:
        """Map ``[1, patches, hidden]`` to the same shape."""
        x = x + self.post_attention_layernorm(self.self_attn(self.input_layernorm(x), grid))
        fed_forward: mx.array = self.post_feedforward_layernorm(self.mlp(self.pre_feedforward_layernorm(x)))
        return x + fed_forward


class Tower(nn.Module):
    """From pixels to features for the language model."""

    def __init__(self, config: TowerConfig) -> None:
        """Make all layers and the projection into the language model."""
        super().__init__()
        self._config = config
        self.input_proj = nn.Linear(3 * config.patch**2, config.hidden, bias=False)
        self.position_embedding_table = mx.zeros((2, config.positions, config.hidden))  # columns, rows
        self.layers = [Block(config) for _ in range(config.layers)]
        self.embedding_projection = nn.Linear(config.hidden, config.language, bias=False)
        if config.standardized:
            self.std_bias, self.std_scale = mx.zeros((config.hidden,)), mx.ones((config.hidden,))

    def __call__(self, pixels: mx.array, grid: tuple[int, int, int]) -> mx.array:
        """Return the features of one image: ``[height, width, 3]`` bytes to ``[tokens, hidden]``."""
        _, rows, columns = grid
        patches = (rows * self._config.pool, columns * self._config.pool)
        x = self._embedded(pixels, patches)
        for block in self.layers:
            x = block(x, patches)
        return self._projected(self._pooled(x, grid), x.dtype)

    def _embedded(self, pixels: mx.array, grid: Grid) -> mx.array:
        """Return the patches with their positions added, ``[1, patches, hidden]``; colours go from -1 to 1."""
        (rows, columns), table = grid, self.position_embedding_table
        colours = patches_of(pixels, self._config.patch) * 2 - 1
        positions = table[0, None, :columns] + table[1, :rows, None]  # [rows, columns, hidden]
        embedded: mx.array = self.input_proj(colours.astype(table.dtype)[None])
        return embedded + positions.reshape(embedded.shape)

    def _pooled(self, x: mx.array, grid: tuple[int, int, int]) -> mx.array:
        """Return the scaled mean of the patches of each soft token, ``[tokens, hidden]`` float32."""
        _, rows, columns = grid
        pool, hidden = self._config.pool, self._config.hidden
        blocks = x.astype(mx.float32).reshape(rows, pool, columns, pool, hidden)
        means: mx.array = blocks.mean(axis=(1, 3))
        scaled: mx.array = means.reshape(-1, hidden) * hidden**0.5
        return scaled

    def _projected(self, features: mx.array, dtype: mx.Dtype) -> mx.array:
        """Return ``[tokens, language]`` in the type of the tower."""
        if self._config.standardized:
            features = (features - self.std_bias) * self.std_scale
        projected: mx.array = self.embedding_projection(
            mx.fast.rms_norm(features, None, self._config.eps).astype(dtype)
        )
        return projected


def turned(x: mx.array, grid: Grid, theta: float) -> mx.array:
    """Turn the first half of every head by the column of its patch, the second by the row.

    Each half is rotated like a head of its own (Su et al.: "RoFormer", 2021), dimension ``j`` paired with the one half
    of its width further.

    Args:
        x: ``[1, heads, patches, dim]``, row by row.
        grid: (rows, columns) of the patches.
        theta: base of the periods.
    """
    _, heads, _, dim = x.shape
    rotate = partial(
        mx.fast.rope, dims=dim // 2, traditional=False, base=theta, scale=1.0, offset=0
    )  # by place in the last axis but one
    across, down = mx.split(x.reshape(heads, *grid, dim), 2, axis=-1)
    down = rotate(down.swapaxes(1, 2)).swapaxes(1, 2)
    return mx.concatenate([rotate(across), down], axis=-1).reshape(x.shape)
