"""Qwen 3.5's tower: a transformer over patches, whose neighbours are then merged into soft tokens."""

from functools import partial

import mlx.core as mx
from mlx import nn

from mlxp_core.nn import merge_heads, split_heads
from mlxp_qwen35.eyes.attention import attend
from mlxp_qwen35.eyes.config import TowerConfig
from mlxp_qwen35.eyes.places import Turn, spread, turn_of, turned

_EPS = 1e-6


class Patches(nn.Module):
    """Cuts an image into patches and embeds them; a still image is the same in all frames of a patch."""

    def __init__(self, config: TowerConfig) -> None:
        """Make weights for each frame."""
        super().__init__()
        side = config.patch
        self.weight = mx.zeros((config.hidden, config.frames, side, side, 3))
        self.bias = mx.zeros((config.hidden,))

    def __call__(self, pixels: mx.array) -> mx.array:
        """Embed ``[height, width, 3]`` bytes: ``[patches, hidden]``, row by row; colours go from -1 to 1."""
        height, width, colours = pixels.shape
        side = self.weight.shape[2]
        squares = pixels.reshape(height // side, side, width // side, side, colours).swapaxes(1, 2)
        values = squares.reshape(-1, side * side * colours).astype(mx.float32) / 127.5 - 1
        weight = self.weight.astype(mx.float32).sum(axis=1).reshape(len(self.weight), -1)
        embedded: mx.array = values @ weight.T + self.bias
        return embedded.astype(self.weight.dtype)


class Attention(nn.Module):
    """Every patch attends to all of the image."""

    def __init__(self, config: TowerConfig) -> None:
        """Make projections."""
        super().__init__()
        self._heads = config.heads
        self.qkv = nn.Linear(config.hidden, 3 * config.hidden)
        self.proj = nn.Linear(config.hidden, config.hidden)

    def __call__(self, x: mx.array, turn: Turn) -> mx.array:
        """Attend: ``[1, patches, hidden]`` to the same shape."""
        q, k, v = (split_heads(part, self._heads) for part in mx.split(self.qkv(x), 3, axis=-1))
        attended: mx.array = self.proj(merge_heads(attend(turned(q, turn), turned(k, turn), v)))
        return attended


class FeedForward(nn.Module):
    """Two linear maps, with the tanh approximation of GELU between them."""

    def __init__(self, config: TowerConfig) -> None:
        """Make both."""
        super().__init__()
        self.linear_fc1 = nn.Linear(config.hidden, config.inner)
        self.linear_fc2 = nn.Linear(config.inner, config.hidden)

    def __call__(self, x: mx.array) -> mx.array:
        """Map ``[1, patches, hidden]`` to the same shape."""
        fed_forward: mx.array = self.linear_fc2(nn.gelu_approx(self.linear_fc1(x)))
        return fed_forward


class Block(nn.Module):
    """Attention and feed-forward, each behind a norm, each added to the residual stream."""

    def __init__(self, config: TowerConfig) -> None:
        """Make one layer."""
        super().__init__()
        norm = partial(nn.LayerNorm, config.hidden, _EPS)
        self.norm1, self.norm2 = norm(), norm()
        self.attn = Attention(config)
        self.mlp = FeedForward(config)

    def __call__(self, x: mx.array, turn: Turn) -> mx.array:
        """Map ``[1, patches, hidden]`` to the same shape."""
        x = x + self.attn(self.norm1(x), turn)
        added: mx.array = x + self.mlp(self.norm2(x))
        return added


class Merger(nn.Module):
    """Makes one feature for the language model of neighbouring patches, side by side."""

    def __init__(self, config: TowerConfig) -> None:
        """Make the norm of a patch and the maps of its neighbourhood."""
        super().__init__()
        self._merge = config.merge
        inner = config.merge**2 * config.hidden
        self.norm = nn.LayerNorm(config.hidden, _EPS)
        self.linear_fc1 = nn.Linear(inner, inner)
        self.linear_fc2 = nn.Linear(inner, config.language)

    def __call__(self, x: mx.array, rows: int, columns: int) -> mx.array:
        """Merge patches, row by row: ``[1, patches, hidden]`` to ``[rows * columns, language]``."""
        merge, hidden = self._merge, x.shape[-1]
        blocks = self.norm(x).reshape(rows, merge, columns, merge, hidden).swapaxes(1, 2)
        together = blocks.reshape(rows * columns, merge**2 * hidden)
        merged: mx.array = self.linear_fc2(nn.gelu(self.linear_fc1(together)))
        return merged


class Tower(nn.Module):
    """From pixels to features for the language model."""

    def __init__(self, config: TowerConfig) -> None:
        """Make all layers."""
        super().__init__()
        self._config = config
        self.patch_embed = Patches(config)
        self.pos_embed = nn.Embedding(config.positions**2, config.hidden)
        self.blocks = [Block(config) for _ in range(config.layers)]
        self.merger = Merger(config)

    def __call__(self, pixels: mx.array, grid: tuple[int, int, int]) -> mx.array:
        """Return the features of one image: ``[height, width, 3]`` bytes to ``[tokens, language]``."""
        (_, rows, columns), config = grid, self._config
        patches = (rows * config.merge, columns * config.merge)
        embedded = self.patch_embed(pixels)
        positions = spread(self.pos_embed(mx.arange(config.positions**2)), patches)
        x = (embedded + positions.astype(embedded.dtype))[None]
        turn = turn_of(patches, config.head_dim, config.theta)
        for block in self.blocks:
            x = block(x, turn)
        return self.merger(x, rows, columns)
