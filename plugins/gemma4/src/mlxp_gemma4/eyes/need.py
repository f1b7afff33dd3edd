"""What looking at an image takes, by arithmetic; a fit to what ``benchmarks/bench_memory.py`` measures."""

from mlxp_core.types import ImageNeed
from mlxp_gemma4.eyes.config import EmbedderConfig, TowerConfig


def need(config: TowerConfig | EmbedderConfig) -> ImageNeed:
    """Return what one image takes."""
    if isinstance(config, EmbedderConfig):
        return ImageNeed(passing=6 * 3 * config.cut.side**2 + 6 * config.hidden + config.language)
    pixels, width = 3 * config.patch**2, config.heads * config.head_dim
    return ImageNeed(
        passing=config.pool**2 * (8 * config.hidden + 3 * config.inner + 10 * width + pixels),
        patches=config.pool**2,
        heads=config.heads,
        dim=config.head_dim,
    )
