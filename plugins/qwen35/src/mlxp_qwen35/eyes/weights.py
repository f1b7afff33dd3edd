"""What Qwen 3.5 checkpoints call the tensors of the tower, and how they store its patches.

Original files say ``model.visual.X``, converted ones ``vision_tower.X``. What embeds patches is stored as
``[hidden, colours, frames, rows, columns]`` in the former, with its colours last in the latter, as the tower has it.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import TYPE_CHECKING

from mlxp_qwen35.eyes.config import TowerConfig

if TYPE_CHECKING:
    import mlx.core as mx

SIDECAR = "optiq_vision.safetensors"
"""A file that holds the eyes of a model whose own files hold its text network alone; no index lists it."""

_PREFIXES = ("model.visual.", "visual.", "vision_tower.")
_PATCHES = "patch_embed.weight"


def rename(name: str) -> str | None:
    """Return the parameter a tensor is for; ``None`` for those of other networks and for tables we compute."""
    prefix = next((prefix for prefix in _PREFIXES if name.startswith(prefix)), None)
    if prefix is None or "rotary_" in name:
        return None
    return name.removeprefix(prefix).replace("patch_embed.proj.", "patch_embed.")


def convert(weights: MutableMapping[str, mx.array], config: TowerConfig) -> None:
    """Put the colours of patches last, where a file has them first."""
    patches = weights.get(_PATCHES)
    if patches is not None and patches.shape[1:] == (3, config.frames, config.patch, config.patch):
        weights[_PATCHES] = patches.transpose(0, 2, 3, 4, 1)
