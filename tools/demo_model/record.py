"""Record what transformers computes with an exported folder: ``python -m demo_model.record FOLDER golden.json``.

Matrices are restored from their 8 bits first, so that both compute with the same numbers, in float32. Needs torch and
transformers, and nothing of the server.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from torch import Tensor
from transformers import Qwen3_5ForCausalLM, Qwen3_5TextConfig

from demo_model.codec import Codec
from demo_model.conversation import plain
from demo_model.questions import questions
from demo_model.render import pieces
from demo_model.shape import LESS_ONE

ASKED = ("usage", "tools", "results", "memory over 4 turns")
"""Categories of which one whole conversation each is read."""


def published(folder: Path) -> dict[str, Tensor]:
    """Return the tensors of an exported folder as transformers names and stores them."""
    stored = load_file(folder / "model.safetensors")
    found = {}
    for name, value in stored.items():
        if name.endswith((".scales", ".biases")):
            continue
        module = name.removesuffix(".weight")
        whole = value.float() if f"{module}.scales" not in stored else _restored(stored, module)
        if name.endswith("conv1d.weight"):
            whole = whole.transpose(1, 2).contiguous()
        found[name] = whole - 1 if name.endswith(LESS_ONE) else whole
    return found


def _restored(stored: dict[str, Tensor], module: str) -> Tensor:
    """Return a matrix of 8-bit numbers: number x scale + bias, by groups along a row."""
    numbers = stored[f"{module}.weight"].contiguous().view(torch.uint8).float()
    scales, biases = (stored[f"{module}.{part}"].float()[..., None] for part in ("scales", "biases"))
    groups = numbers.unflatten(-1, (scales.shape[-2], -1))
    return (groups * scales + biases).flatten(-2)


@torch.no_grad()
def recorded(folder: Path) -> dict[str, Any]:
    """Return the likeliest tokens and some logits for whole conversations of the evaluation."""
    config = json.loads((folder / "config.json").read_text("utf-8"))
    quantization = config.pop("quantization")
    config.pop("quantization_config")
    assert quantization["bits"] == 8  # noqa: S101  # what is read here
    model = Qwen3_5ForCausalLM(Qwen3_5TextConfig(**config)).float().eval()
    found = model.load_state_dict(published(folder), strict=False)
    assert (found.unexpected_keys, found.missing_keys) == ([], ["lm_head.weight"])  # noqa: S101  # which is the table
    codec = Codec(folder / "tokenizer.json")
    rows = []
    for category in ASKED:
        text = plain("".join(piece.text for piece in pieces(questions(category, 1)[0])))
        tokens = codec.encode(text)
        logits = model(torch.tensor([tokens])).logits[0]
        best = logits.topk(5)
        rows.append(
            {
                "text": text,
                "tokens": tokens,
                "likeliest": logits.argmax(-1).tolist(),
                "top": [
                    [place, best.indices[place].tolist(), best.values[place].tolist()]
                    for place in range(0, len(tokens), 16)
                ],
            }
        )
    return {"rows": rows}


if __name__ == "__main__":
    Path(sys.argv[2]).write_text(json.dumps(recorded(Path(sys.argv[1]))) + "\n", "utf-8")
