"""The folder of an adapter as MLX's trainers write it, which servers mount."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import mlx.core as mx

from mlxp_lab.quantize.folder import write_json

WEIGHTS = "adapters.safetensors"
CONFIG = "adapter_config.json"


def write_adapter(
    folder: Path,
    numbers: Mapping[str, mx.array],
    *,
    rank: int,
    scale: float,
    dropout: float,
    layers: int,
    base_model: str | None,
) -> int:
    """Write an adapter.

    Args:
        folder: where to.
        numbers: ``<module>.lora_a``, ``[inputs, rank]``, and ``<module>.lora_b``, ``[rank, outputs]``, by the names of
            modules in MLX conversions.
        rank: of all terms.
        scale: what terms are multiplied by.
        dropout: with which they learned.
        layers: blocks that have terms, counted from the last.
        base_model: what they were learned on.

    Returns:
        Bytes of the numbers.
    """
    mx.save_safetensors(str(folder / WEIGHTS), dict(numbers), metadata={"format": "mlx"})
    config: dict[str, Any] = {
        "fine_tune_type": "lora",
        "num_layers": layers,
        "lora_parameters": {
            "rank": rank,
            "scale": scale,
            "dropout": dropout,
            "keys": sorted({within_block(name.rpartition(".")[0]) for name in numbers}),
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
