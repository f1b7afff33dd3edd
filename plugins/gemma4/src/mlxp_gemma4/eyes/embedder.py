"""The unified Gemma 4's eyes: pixels are normed and projected into the language model, which does the seeing."""

import mlx.core as mx
from mlx import nn

from mlxp_gemma4.eyes.config import EmbedderConfig
from mlxp_gemma4.eyes.patches import patches_of


class Embedder(nn.Module):
    """From pixels to features for the language model, patch by patch."""

    def __init__(self, config: EmbedderConfig) -> None:
        """Make norms and projections."""
        super().__init__()
        self._config = config
        pixels, hidden = 3 * config.cut.side**2, config.hidden
        self.patch_ln1 = nn.LayerNorm(pixels)
        self.patch_dense = nn.Linear(pixels, hidden)
        self.patch_ln2 = nn.LayerNorm(hidden)
        self.pos_embedding = mx.zeros((config.positions, 2, hidden))  # of two: by column, by row
        self.pos_norm = nn.LayerNorm(hidden)
        self.embedding_projection = nn.Linear(hidden, config.language, bias=False)

    def __call__(self, pixels: mx.array, grid: tuple[int, int, int]) -> mx.array:
        """Return the features of one image: ``[height, width, 3]`` bytes to ``[tokens, hidden]``."""
        _, rows, columns = grid
        table = self.pos_embedding
        patches = centred(patches_of(pixels, self._config.cut.side), self._config.cut.side)
        x = self.patch_ln2(self.patch_dense(self.patch_ln1(patches).astype(table.dtype)))
        positions = table[None, :columns, 0] + table[:rows, None, 1]  # [rows, columns, hidden]
        x = self.pos_norm(x + positions.reshape(x.shape))
        features: mx.array = self.embedding_projection(mx.fast.rms_norm(x, None, self._config.eps))
        return features


def centred(patches: mx.array, side: int) -> mx.array:
    """Take its mean off every patch, ``[patches, side * side * 3]``.

    The norm that follows would do so itself, but in one sum over thousands of pixels, whose rounding shows in features.
    """
    lines = patches.reshape(len(patches), side, -1)
    return patches - lines.mean(axis=-1).mean(axis=-1, keepdims=True)
