"""A tiny llama, and what mlx-lm computes from it."""

import json
from pathlib import Path

import pytest

from mlxp_core.testing.family import Golden
from mlxp_core.testing.networks import random_parameters
from mlxp_minicpm5 import config
from mlxp_minicpm5.text import MiniCPM5

GOLDEN = Path(__file__).parent / "golden" / "llama.json"


@pytest.fixture(scope="session")
def recorded():
    """The golden file: a config.json, a seed for ``random_parameters``, a prompt, and mlx-lm's float32 answer."""
    return json.loads(GOLDEN.read_text())


@pytest.fixture
def llama_config(recorded):
    return dict(recorded["config"])


@pytest.fixture
def golden(recorded):
    network = MiniCPM5(config.read(recorded["config"]))
    return Golden(
        checkpoint=random_parameters(network, recorded["seed"]),
        prompt=tuple(recorded["prompt"]),
        logits={int(token): logit for token, logit in recorded["logits"].items()},
        greedy=tuple(recorded["greedy"]),
    )
