"""Write a complete model folder with random weights: something to serve and to test with where no model is."""

from __future__ import annotations

import json
import math
import random
import sys
from array import array
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from mlxp_core.loading.sketch_tokenizer import (
    BEGIN,
    END,
    TURN_END,
    sketch_tokenizer,
    sketch_tokenizer_config,
)

Shapes = Mapping[str, tuple[int, ...]]
"""Tensor name -> shape."""

LEAST_VOCABULARY = 384
"""Rows of the embedding that the sketch's tokenizer needs, and a few of padding, as real models have."""


def sketch_config() -> dict[str, Any]:
    """Return the config.json of a small Llama-type network that MiniCPM5's family recognizes by its tokens."""
    return {
        "architectures": ["LlamaForCausalLM"],
        "attention_bias": False,
        "bos_token_id": BEGIN,
        "eos_token_id": [END, TURN_END],
        "head_dim": 32,
        "hidden_act": "silu",
        "hidden_size": 64,
        "intermediate_size": 128,
        "max_position_embeddings": 4096,
        "mlp_bias": False,
        "model_type": "llama",
        "num_attention_heads": 4,
        "num_hidden_layers": 2,
        "num_key_value_heads": 2,
        "pad_token_id": END,
        "rms_norm_eps": 1e-6,
        "rope_theta": 10000.0,
        "tie_word_embeddings": False,
        "torch_dtype": "float32",
        "vocab_size": LEAST_VOCABULARY,
    }


def sketch_shapes(config: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
    """Return the tensors of a Llama-type network of this configuration."""
    hidden, wide, rows = config["hidden_size"], config["intermediate_size"], config["vocab_size"]
    queries = config["num_attention_heads"] * config["head_dim"]
    keys = config["num_key_value_heads"] * config["head_dim"]
    layer: dict[str, tuple[int, ...]] = {
        "input_layernorm": (hidden,),
        "self_attn.q_proj": (queries, hidden),
        "self_attn.k_proj": (keys, hidden),
        "self_attn.v_proj": (keys, hidden),
        "self_attn.o_proj": (hidden, queries),
        "post_attention_layernorm": (hidden,),
        "mlp.gate_proj": (wide, hidden),
        "mlp.up_proj": (wide, hidden),
        "mlp.down_proj": (hidden, wide),
    }
    shapes: dict[str, tuple[int, ...]] = {"model.embed_tokens.weight": (rows, hidden)}
    for number in range(config["num_hidden_layers"]):
        shapes |= {f"model.layers.{number}.{name}.weight": shape for name, shape in layer.items()}
    return {**shapes, "model.norm.weight": (hidden,), "lm_head.weight": (rows, hidden)}


def write_sketch(
    folder: Path, *, config: Mapping[str, Any] | None = None, shapes: Shapes | None = None, seed: int = 0
) -> Path:
    """Write a model folder as Hugging Face lays it out; the same arguments write the same bytes.

    Args:
        folder: where; made if absent, and its files replaced.
        config: config.json; the small Llama-type network by default.
        shapes: the checkpoint's tensors; by default those of a Llama-type network of this configuration.
        seed: of the weights.

    Returns:
        ``folder``.
    """
    chosen = dict(config) if config is not None else sketch_config()
    tensors = shapes if shapes is not None else sketch_shapes(chosen)
    folder.mkdir(parents=True, exist_ok=True)
    _write_json(folder / "config.json", chosen)
    _write_json(folder / "tokenizer.json", sketch_tokenizer())
    _write_json(folder / "tokenizer_config.json", sketch_tokenizer_config())
    _write_json(
        folder / "generation_config.json",
        {"eos_token_id": [END, TURN_END], "temperature": 0.9, "top_p": 0.95},
    )
    template = files("mlxp_core.loading").joinpath("sketch.jinja").read_text("utf-8")
    (folder / "chat_template.jinja").write_text(template, "utf-8")
    _write_tensors(
        folder / "model.safetensors", {name: (shape, f"{seed}:{name}") for name, shape in tensors.items()}
    )
    return folder


def _numbers(name: str, shape: tuple[int, ...]) -> bytes:
    """Return random float32 numbers: norms near 1, all else of unit gain over the last axis."""
    draw = random.Random(name)  # noqa: S311  # weights, not secrets
    centre, spread = (
        (1.0, 0.1) if "norm" in name and len(shape) == 1 else (0.0, math.sqrt(3.0 / max(1, *shape[-1:])))
    )
    numbers = array("f", (centre + spread * draw.uniform(-1.0, 1.0) for _ in range(math.prod(shape))))
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers.tobytes()


def _write_tensors(path: Path, tensors: Mapping[str, tuple[tuple[int, ...], str]]) -> None:
    """Write a safetensors file: length of the header, header, numbers; each tensor is a shape and its seed."""
    header: dict[str, Any] = {"__metadata__": {"format": "mlx"}}
    blocks: list[bytes] = []
    end = 0
    for name, (shape, seed) in tensors.items():
        blocks.append(_numbers(seed, shape))
        begin, end = end, end + len(blocks[-1])
        header[name] = {"dtype": "F32", "shape": list(shape), "data_offsets": [begin, end]}
    head = json.dumps(header).encode()
    head += b" " * (-len(head) % 8)
    path.write_bytes(len(head).to_bytes(8, "little") + head + b"".join(blocks))


def _write_json(path: Path, value: object) -> None:
    path.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", "utf-8")
