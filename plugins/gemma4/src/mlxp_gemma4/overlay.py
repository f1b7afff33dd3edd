"""Tokens of one image look at each other, ahead too, where the checkpoint asks for it.

In the dense and routed models they do so in sliding layers only, and within the window. In the unified model they do
so in every layer, however far apart.
"""

import mlx.core as mx
from msgspec import Struct

from mlxp_core.contracts import Inputs
from mlxp_gemma4.config import Gemma4Config


class Overlays(Struct, frozen=True, eq=False):
    """Pairs of this pass's tokens that see each other besides the causal ones, ``[rows, width, width]`` bool."""

    sliding: mx.array | None = None
    full: mx.array | None = None


def overlays(config: Gemma4Config, inputs: Inputs) -> Overlays:
    """Return the overlays of both kinds of layers; nothing where no image is in this pass."""
    if config.overlay == "none" or not any(inputs.images):
        return Overlays()
    blocks = mx.array(_blocks(inputs), dtype=mx.int32)  # [rows, width], 0 = outside any image
    same = (blocks[:, :, None] == blocks[:, None]) & (blocks[:, :, None] > 0)
    match config.overlay:
        case "all":
            return Overlays(sliding=same, full=same)
        case "sliding":
            window = max(layer.window or 0 for layer in config.layers)
            places = mx.arange(inputs.at.width)
            return Overlays(sliding=same & (places[:, None] - places < window))


def _blocks(inputs: Inputs) -> list[list[int]]:
    """Number the images of each row, and say for each token of the pass which one it is of; 0 = none."""
    at = inputs.at
    rows = []
    for start, count, spans in zip(at.starts, at.counts, inputs.images, strict=True):
        row = [0] * at.width
        for number, span in enumerate(spans, start=1):
            for place in range(max(span.start - start, 0), min(span.start + span.count - start, count)):
                row[place] = number
        rows.append(row)
    return rows
