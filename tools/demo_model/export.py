"""Write a checkpoint of the training as a model folder: ``python -m demo_model.export CHECKPOINT FOLDER --bits 8``.

The folder is laid out as MLX conversions are: names and config.json as published, matrices quantized in groups, norms
and convolutions as the network computes with them. With ``--bits 16`` nothing is quantized and all is stored as
published, for transformers. Runs in the server's environment; needs no torch.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from pathlib import Path
from typing import Any

import mlx.core as mx

from demo_model.codec import END, SPECIAL, TURN_END
from demo_model.shape import LESS_ONE, Shape

HERE = Path(__file__).parent
GROUP = 64
"""Numbers of a matrix that share a scale."""


def export(checkpoint: Path, folder: Path, *, bits: int) -> Path:
    """Write the folder and return it.

    Args:
        checkpoint: what the training has written.
        folder: made if absent, and its files replaced.
        bits: of the numbers in matrices, 4 or 8; 16 = as published, not quantized.
    """
    notes = json.loads((checkpoint / "training.json").read_text("utf-8"))
    shape = Shape(**notes["shape"])
    weights: dict[str, mx.array] = {}
    for file in sorted(checkpoint.glob("weights-*.safetensors")):
        weights |= mx.load(str(file))
    config: dict[str, Any] = {"architectures": ["Qwen3_5ForCausalLM"], **shape.config(), "dtype": "float16"}
    if bits < 16:
        weights = packed(converted(weights), bits)
        packing = {"group_size": GROUP, "bits": bits, "mode": "affine"}
        config |= {"quantization": packing, "quantization_config": packing}
    folder.mkdir(parents=True, exist_ok=True)
    metadata = {"format": "mlx" if bits < 16 else "pt"}
    mx.save_safetensors(str(folder / "model.safetensors"), weights, metadata)
    _write(folder / "config.json", config)
    _write(folder / "generation_config.json", {"eos_token_id": [END, TURN_END], "temperature": 0.0})
    _write(folder / "tokenizer_config.json", _tokenizer(shape.context))
    shutil.copy(HERE / "tokenizer.json", folder)
    shutil.copy(HERE / "chat_template.jinja", folder)
    return folder


def converted(weights: dict[str, mx.array]) -> dict[str, mx.array]:
    """Return tensors as the network computes with them."""
    found = {}
    for name, value in weights.items():
        if name.endswith("conv1d.weight"):
            found[name] = value.swapaxes(1, 2)
        elif name.endswith(LESS_ONE):
            found[name] = value + 1
        else:
            found[name] = value
    return found


def packed(weights: dict[str, mx.array], bits: int) -> dict[str, mx.array]:
    """Return tensors with their matrices quantized, where whole groups fit and it is worth it."""
    found: dict[str, mx.array] = {}
    for name, value in weights.items():
        if value.ndim != 2 or value.shape[-1] % GROUP or value.shape[0] < GROUP:
            found[name] = value
            continue
        path = name.removesuffix(".weight")
        numbers, scales, biases = mx.quantize(value, group_size=GROUP, bits=bits)
        found |= {name: numbers, f"{path}.scales": scales, f"{path}.biases": biases}
    return found


def _tokenizer(context: int) -> dict[str, Any]:
    end, _, turn_end = SPECIAL
    return {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": None,
        "eos_token": turn_end,
        "pad_token": end,
        "unk_token": None,
        "add_bos_token": False,
        "clean_up_tokenization_spaces": False,
        "model_max_length": context,
    }


def _write(path: Path, value: object) -> None:
    path.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", "utf-8")


def main(arguments: list[str]) -> None:
    """Export."""
    parser = argparse.ArgumentParser(prog="demo_model.export", description=__doc__)
    parser.add_argument("checkpoint", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--bits", type=int, choices=(4, 8, 16), default=8)
    chosen = parser.parse_args(arguments)
    folder = export(chosen.checkpoint, chosen.folder, bits=chosen.bits)
    size = sum(file.stat().st_size for file in folder.iterdir())
    print(f"{folder}: {size / 1e6:.1f} MB")


if __name__ == "__main__":
    main(sys.argv[1:])
