"""The folder of an adapter as MLX's trainers write it, which servers mount."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import mlx.core as mx

from mlxp_core.workshop.terms import Factors
from mlxp_lab.quantize.folder import write_json

WEIGHTS = "adapters.safetensors"
CONFIG = "adapter_config.json"

EVERY = -1
"""What MLX's trainers write where all blocks have terms."""


def write_adapter(
    folder: Path,
    terms: Mapping[str, Factors],
    *,
    rank: int,
    base_model: str | None,
    scale: float = 1.0,
    dropout: float = 0.0,
    layers: int = EVERY,
) -> int:
    """Write an adapter.

    Args:
        folder: where to.
        terms: their halves as they are stored, by the names of modules in MLX conversions.
        rank: of all terms.
        base_model: what they were learned on.
        scale: what terms are multiplied by.
        dropout: with which they learned.
        layers: blocks that have terms, counted from the last.

    Returns:
        Bytes of the numbers.
    """
    numbers = {f"{module}.lora_a": term.a for module, term in terms.items()}
    numbers |= {f"{module}.lora_b": term.b for module, term in terms.items()}
    mx.save_safetensors(str(folder / WEIGHTS), numbers, metadata={"format": "mlx"})
    config: dict[str, Any] = {
        "fine_tune_type": "lora",
        "num_layers": layers,
        "lora_parameters": {
            "rank": rank,
            "scale": scale,
            "dropout": dropout,
            "keys": sorted(set(map(within_block, terms))),
        },
    }
    if base_model is not None:
        config["model"] = base_model
    write_json(folder / CONFIG, config)
    return sum(array.nbytes for array in numbers.values())


def within_block(module: str) -> str:
    """Return the name of a module within its block, which is how MLX's trainers list those with terms."""
    rest = module.partition(".layers.")[2]
    return rest.partition(".")[2] or module
