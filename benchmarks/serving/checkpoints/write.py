"""Writes a checkpoint: ``python -m benchmarks.serving.checkpoints.write FOLDER [NAME]...``."""

import json
import sys
from pathlib import Path
from typing import Any

import mlx.core as mx

from benchmarks.serving.checkpoints import hybrid, llama
from benchmarks.serving.checkpoints.vocabulary import WORDS, Vocabulary
from benchmarks.serving.checkpoints.weights import Weights

NAMES = ("nano-llama", "nano-hybrid", "mid-llama", "mid-hybrid")
TEMPLATE = Path(__file__).with_name("chat.jinja")


def write(folder: Path, name: str) -> Path:
    """Write one of ``NAMES`` into a folder, unless it is there; return where it is."""
    there = folder / name
    if (there / WORDS).is_file():
        return there
    size, _, kind = name.partition("-")
    match kind:
        case "llama":
            shape = llama.SHAPES[size]
            words = Vocabulary(shape.vocabulary, llama.CONTROL)
            tokenizer = words.tokenizer(llama.TEXT, llama.BEGIN)
            _write(there, llama.config(shape), llama.weights(shape, words), words, tokenizer, llama.NAMES)
        case _:
            form = hybrid.SHAPES[size]
            words = Vocabulary(form.vocabulary, hybrid.control(form))
            tokenizer = words.tokenizer(hybrid.TEXT, None)
            _write(there, hybrid.config(form), hybrid.weights(form, words), words, tokenizer, hybrid.NAMES)
    return there


def _write(
    there: Path,
    config: dict[str, Any],
    weights: Weights,
    words: Vocabulary,
    tokenizer: dict[str, Any],
    names: dict[str, Any],
) -> None:
    there.mkdir(parents=True, exist_ok=True)
    mx.save_safetensors(str(there / "model.safetensors"), weights, metadata={"format": "pt"})
    told = {
        "add_bos_token": False,
        "clean_up_tokenization_spaces": False,
        "model_max_length": 131072,
        **names,
    }
    for file, content in (
        ("config.json", config),
        ("tokenizer_config.json", told),
        ("generation_config.json", {"eos_token_id": config["eos_token_id"]}),
        ("tokenizer.json", tokenizer),
        (WORDS, words.spelled()),
    ):
        (there / file).write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")
    (there / "chat_template.jinja").write_text(TEMPLATE.read_text(encoding="utf-8"), encoding="utf-8")


if __name__ == "__main__":
    for wanted in sys.argv[2:] or NAMES:
        print(write(Path(sys.argv[1]), wanted))
