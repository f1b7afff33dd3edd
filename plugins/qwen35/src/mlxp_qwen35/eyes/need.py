"""What looking at an image takes, by arithmetic; a fit to what ``benchmarks/bench_memory.py`` measures."""

from mlxp_core.types import ImageNeed
from mlxp_qwen35.eyes.config import TowerConfig

SCORES = 1 << 26
"""Scores of all heads that may be kept at a time."""

FUSED = (64, 80, 128)
"""Head widths for which Metal has a fused kernel."""


def padded(dim: int) -> int:
    """Return the width of heads as they attend."""
    return next((width for width in FUSED if width >= dim), dim)


def need(config: TowerConfig) -> ImageNeed:
    """Return what one image takes."""
    patches, width = config.merge**2, padded(config.head_dim)
    blocks = 18 * config.hidden + 5 * config.heads * width + 2 * config.inner
    return ImageNeed(
        passing=patches * max(blocks, 4 * 3 * config.patch**2),
        patches=patches,
        heads=config.heads,
        dim=width,
        scores=SCORES,
    )
