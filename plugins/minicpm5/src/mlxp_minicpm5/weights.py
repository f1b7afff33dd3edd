"""What a MiniCPM5 checkpoint calls its tensors: the network's own names, with little besides."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import TYPE_CHECKING

from mlxp_minicpm5.config import MiniCPM5Config

if TYPE_CHECKING:
    import mlx.core as mx


def rename(name: str) -> str | None:
    """Return the parameter a tensor is for; ``None`` for tables of rotary periods, which we compute."""
    return None if name.endswith("rotary_emb.inv_freq") else name


def convert(weights: MutableMapping[str, mx.array], config: MiniCPM5Config) -> None:
    """Drop the copy of the embedding table that some files store as a head although the two are tied."""
    if config.tied:
        for name in [name for name in weights if name.startswith("lm_head.")]:
            del weights[name]
