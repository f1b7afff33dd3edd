"""The folder of an adapter as PEFT writes it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import mlx.core as mx

from mlxp_core.workshop.terms import Factors
from mlxp_lab.quantize.folder import write_json

_PREFIX = "base_model.model."


def write_peft(folder: Path, terms: Mapping[str, Factors], *, rank: int, base_model: str | None) -> int:
    """Write an adapter.

    Args:
        folder: where to.
        terms: of rank ``rank`` and scale 1, by what PEFT calls their modules.
        rank: of all terms.
        base_model: what they were learned on.

    Returns:
        Bytes of the numbers.
    """
    numbers: dict[str, mx.array] = {}
    for module, term in terms.items():
        numbers[f"{_PREFIX}{module}.lora_A.weight"] = mx.contiguous(term.a.T)
        numbers[f"{_PREFIX}{module}.lora_B.weight"] = mx.contiguous(term.b.T)
    mx.save_safetensors(str(folder / "adapter_model.safetensors"), numbers, metadata={"format": "pt"})
    config: dict[str, Any] = {
        "peft_type": "LORA",
        "task_type": "CAUSAL_LM",
        "base_model_name_or_path": base_model,
        "r": rank,
        "lora_alpha": rank,
        "lora_dropout": 0.0,
        "target_modules": sorted({module.rpartition(".")[2] for module in terms}),
        "bias": "none",
        "fan_in_fan_out": False,
        "inference_mode": True,
        "modules_to_save": None,
        "use_dora": False,
        "use_rslora": False,
    }
    write_json(folder / "adapter_config.json", config)
    return sum(array.nbytes for array in numbers.values())
