"""Checkpoints in files of at most 15 MB: float16 matrices, float32 vectors, by their published names."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from demo_model.shape import Shape

_MOST = 15 * 2**20


def save(folder: Path, named: dict[str, Tensor], shape: Shape, notes: dict[str, Any]) -> None:
    """Write a checkpoint."""
    folder.mkdir(parents=True, exist_ok=True)
    parts: list[dict[str, Tensor]] = [{}]
    size = 0
    for name, value in named.items():
        kept = value.detach().cpu().to(torch.float16 if value.ndim >= 2 else torch.float32).contiguous()
        if size + kept.nbytes > _MOST:
            parts.append({})
            size = 0
        parts[-1][name] = kept
        size += kept.nbytes
    for place, part in enumerate(parts):
        save_file(part, folder / f"weights-{place}.safetensors")
    (folder / "training.json").write_text(
        json.dumps({"shape": shape.asdict(), **notes}, indent=1) + "\n", "utf-8"
    )


def load(folder: Path) -> tuple[dict[str, Tensor], Shape, dict[str, Any]]:
    """Read a checkpoint: parameters in float32, sizes, notes."""
    notes = json.loads((folder / "training.json").read_text("utf-8"))
    named: dict[str, Tensor] = {}
    for file in sorted(folder.glob("weights-*.safetensors")):
        named |= load_file(file)
    return {name: value.float() for name, value in named.items()}, Shape(**notes.pop("shape")), notes
