"""Models with eyes, tiny ones and, where they are at hand, the checkpoints that numbers were recorded from."""

import json
from pathlib import Path

import pytest

TOWER = {
    "model_type": "qwen3_5",
    "depth": 2,
    "hidden_size": 24,
    "intermediate_size": 40,
    "num_heads": 2,
    "patch_size": 4,
    "num_position_embeddings": 25,
    "out_hidden_size": 64,
}


@pytest.fixture
def seeing(either, multimodal):
    """The config.json of a small model with eyes, around either text network."""
    return {**multimodal(either), "vision_config": dict(TOWER)}


@pytest.fixture(scope="session")
def as_stored():
    """Return a function: a parameter of the tower and its value as an original or a converted file has them."""

    def store(name, value, *, original):
        if name.startswith("patch_embed."):
            name = name.replace("patch_embed.", "patch_embed.proj.")
            if original and name.endswith("weight"):
                value = value.transpose(0, 4, 1, 2, 3)
        return f"{'model.visual' if original else 'vision_tower'}.{name}", value

    return store


@pytest.fixture(scope="session")
def oracle(shared):
    """What transformers and mlx-vlm made of the tiny checkpoints."""
    return json.loads((shared / "tools" / "checkpoints" / "tiny_oracle.json").read_text())


@pytest.fixture(scope="session")
def several():
    """Three images of different shapes, the tokens around them, and what the definition makes of them."""
    return json.loads((Path(__file__).parent / "golden" / "several_images.json").read_text())
