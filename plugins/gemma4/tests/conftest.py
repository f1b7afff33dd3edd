"""Tiny networks of every shape, and what mlx-lm computes from two of them."""

import json
from pathlib import Path
from types import MappingProxyType

import pytest

from mlxp_core.testing.family import Golden
from mlxp_core.testing.networks import random_parameters
from mlxp_gemma4 import config
from mlxp_gemma4.text import Gemma4

GOLDEN = Path(__file__).parent / "golden"

LEAST = {
    "model_type": "gemma4_text",
    "vocab_size": 211,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 32,
    "global_head_dim": 64,
    "layer_types": ["sliding_attention", "sliding_attention", "full_attention"],
    "sliding_window": 8,
    "attention_k_eq_v": False,
    "num_kv_shared_layers": 0,
    "use_double_wide_mlp": False,
    "hidden_size_per_layer_input": 0,
    "final_logit_softcapping": 30.0,
}
DENSE = {**LEAST, "attention_k_eq_v": True, "num_global_key_value_heads": 1}

TOWER = {
    "model_type": "gemma4_vision",
    "hidden_size": 24,
    "intermediate_size": 40,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "head_dim": 12,
    "patch_size": 4,
    "position_embedding_size": 36,
}
EMBEDDER = {
    "model_type": "gemma4_unified_vision",
    "mm_embed_dim": 24,
    "mm_posemb_size": 12,
    "output_proj_dims": 24,
    "patch_size": 4,
}
SEEING = {
    "tower": {"model_type": "gemma4", "vision_config": TOWER},
    "clipped": {"model_type": "gemma4", "vision_config": {**TOWER, "use_clipped_linears": True}},
    "standardized": {"model_type": "gemma4", "vision_config": {**TOWER, "standardize": True}},
    "embedder": {"model_type": "gemma4_unified", "vision_config": EMBEDDER},
}
"""The top of config.json of models with eyes, of every kind."""


def recording(name):
    """Return a golden file: a config.json, a seed for ``random_parameters``, a prompt, mlx-lm's float32 answer."""
    return json.loads((GOLDEN / f"{name}.json").read_text())


def golden(recorded):
    network = Gemma4(config.read(recorded["config"]))
    return Golden(
        checkpoint=random_parameters(network, recorded["seed"]),
        prompt=tuple(recorded["prompt"]),
        logits={int(token): logit for token, logit in recorded["logits"].items()},
        greedy=tuple(recorded["greedy"]),
    )


def unified(text):
    """Return the config.json of a model with images, from that of its text network."""
    return {
        "model_type": "gemma4_unified",
        "image_token_id": 200,
        "audio_token_id": 201,
        "video_token_id": 202,
        "text_config": {**text, "model_type": "gemma4_unified_text", "use_bidirectional_attention": "vision"},
    }


def original(name):
    """Write the name of a parameter of the eyes as an original checkpoint does."""
    match name.split(".")[0]:
        case "input_proj" | "position_embedding_table":
            return f"model.vision_tower.patch_embedder.{name}"
        case "layers":
            return f"model.vision_tower.encoder.{name}"
        case "std_bias" | "std_scale":
            return f"model.vision_tower.{name}"
        case "embedding_projection":
            return f"model.embed_vision.{name}"
        case _:
            return f"model.vision_embedder.{name}"


@pytest.fixture(params=sorted(SEEING))
def seeing(request):
    """The config.json of a small model with eyes, one for each kind."""
    text = {**LEAST, "use_bidirectional_attention": "vision"}
    return {**SEEING[request.param], "text_config": text, "vision_soft_tokens_per_image": 12}


@pytest.fixture(scope="session")
def original_name():
    return original


@pytest.fixture(scope="session")
def per_layer():
    """Small models: per-layer embeddings, shared keys and values, wide feed-forwards."""
    return recording("per_layer")


@pytest.fixture(scope="session")
def routed():
    """The model with experts, here with a head of its own."""
    return recording("routed")


@pytest.fixture(scope="session")
def least_keys():
    """The keys every text network has; not to be changed."""
    return MappingProxyType(LEAST)


@pytest.fixture
def least(least_keys):
    return dict(least_keys)


@pytest.fixture
def dense():
    return dict(DENSE)


@pytest.fixture
def unified_dense():
    return unified(DENSE)


@pytest.fixture(scope="session")
def as_golden():
    return golden
