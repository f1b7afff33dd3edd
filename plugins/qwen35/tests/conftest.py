"""Tiny networks of both shapes, how they are published, and what mlx-lm computes from them."""

import json
from pathlib import Path

import mlx.core as mx
import pytest

from mlxp_core.testing.family import Golden
from mlxp_core.testing.networks import load, random_parameters
from mlxp_qwen35 import config
from mlxp_qwen35.text import Qwen35

GOLDEN = Path(__file__).parent / "golden"

DENSE = {
    "model_type": "qwen3_5_text",
    "vocab_size": 211,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 32,
    "linear_num_key_heads": 2,
    "linear_num_value_heads": 4,
    "linear_key_head_dim": 32,
    "linear_value_head_dim": 16,
    "rope_parameters": {
        "rope_type": "default",
        "rope_theta": 1e7,
        "partial_rotary_factor": 0.25,
        "mrope_section": [2, 1, 1],
        "mrope_interleaved": True,
    },
    "tie_word_embeddings": False,
    "mtp_num_hidden_layers": 1,
}
EXPERTS = {
    **{key: value for key, value in DENSE.items() if key != "intermediate_size"},
    "model_type": "qwen3_5_moe_text",
    "num_experts": 6,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 32,
    "shared_expert_intermediate_size": 64,
    "tie_word_embeddings": True,
}


@pytest.fixture
def dense():
    """The config.json of a dense network with a head of its own."""
    return dict(DENSE)


@pytest.fixture
def experts():
    """The config.json of a network with experts and a tied head."""
    return dict(EXPERTS)


@pytest.fixture(params=["dense", "experts"])
def either(request):
    """Both, in turn."""
    return dict(DENSE if request.param == "dense" else EXPERTS)


@pytest.fixture
def multimodal():
    """Return a function of a text network's config.json: that of a model with images around it."""
    return lambda text: {
        "model_type": text["model_type"].removesuffix("_text"),
        "text_config": text,
        "image_token_id": 200,
        "vision_start_token_id": 201,
    }


@pytest.fixture
def network():
    """Return a maker of networks with random weights."""

    def make(keys, seed=3):
        made = Qwen35(config.read(keys))
        load(made, random_parameters(made, seed))
        return made

    return make


@pytest.fixture
def published():
    """Return a function that writes parameters as the publisher's multimodal files have them."""
    return _published


@pytest.fixture
def recording():
    """Return a reader of golden files: config.json, seed for ``random_parameters``, prompt, mlx-lm's float32 answer."""
    return lambda name: json.loads((GOLDEN / f"{name}.json").read_text())


@pytest.fixture
def as_golden():
    """Return a function of a golden file: its numbers, with a checkpoint as published."""

    def make(recorded):
        made = Qwen35(config.read(recorded["config"]))
        return Golden(
            checkpoint=_published(random_parameters(made, recorded["seed"])),
            prompt=tuple(recorded["prompt"]),
            logits={int(token): logit for token, logit in recorded["logits"].items()},
            greedy=tuple(recorded["greedy"]),
        )

    return make


def _published(parameters):
    tensors = {}
    for name, value in parameters.items():
        own = name.removeprefix("model.")
        target = name if own == name else f"model.language_model.{own}"
        path, stack, part = target.rpartition(".mlp.switch_mlp.")
        match part:
            case "gate_proj.weight" if stack:
                up = parameters[name.replace("gate_proj", "up_proj")]
                tensors[f"{path}.mlp.experts.gate_up_proj"] = mx.concatenate([value, up], axis=1)
            case "down_proj.weight" if stack:
                tensors[f"{path}.mlp.experts.down_proj"] = value
            case "up_proj.weight" if stack:
                pass  # written with the gate
            case _ if name.endswith("conv1d.weight"):
                tensors[target] = value.swapaxes(1, 2)
            case _ if name.endswith("norm.weight") and not name.endswith("linear_attn.norm.weight"):
                tensors[target] = value - 1
            case _:
                tensors[target] = value
    return tensors
