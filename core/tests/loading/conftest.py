"""A small network of our own, and model folders for it."""

from typing import Annotated

import mlx.core as mx
import pytest
from mlx import nn
from msgspec import Meta, Struct, convert

from mlxp_core.contracts import ModelFamily
from mlxp_core.loading import open_folder
from mlxp_core.loading.sketch import write_sketch
from mlxp_core.types import Need

Size = Annotated[int, Meta(gt=0)]


class PairConfig(Struct, frozen=True):
    vocab_size: Size
    hidden_size: Size


class Pair(nn.Module):
    """Predict each token from the one before it."""

    def __init__(self, config):
        super().__init__()
        self.table = nn.Embedding(config.vocab_size, config.hidden_size)
        self.layers = [nn.Linear(config.hidden_size, config.hidden_size, bias=True) for _ in range(2)]
        self.decay = mx.zeros((config.hidden_size,))
        self.head = nn.Linear(config.hidden_size, config.vocab_size, bias=False)

    def __call__(self, inputs, caches):
        hidden = self.embed(inputs.tokens) if inputs.embeddings is None else inputs.embeddings
        for layer in self.layers:
            hidden = hidden + layer(hidden) * mx.exp(self.decay).astype(hidden.dtype)
        return hidden

    def logits(self, hidden):
        return self.head(hidden)

    def embed(self, tokens):
        return self.table(tokens)

    def make_caches(self, policy):
        return []


def rename(name):
    return None if name.startswith("spare.") else name.removeprefix("model.")


CONFIG = {
    "model_type": "pair",
    "vocab_size": 384,
    "hidden_size": 64,
    "max_position_embeddings": 512,
    "eos_token_id": 25,
}
SHAPES = {
    "model.table.weight": (384, 64),
    "model.layers.0.weight": (64, 64),
    "model.layers.0.bias": (64,),
    "model.layers.1.weight": (64, 64),
    "model.layers.1.bias": (64,),
    "model.decay": (64,),
    "model.head.weight": (384, 64),
    "spare.weight": (3, 3),
}


@pytest.fixture(scope="session")
def pair():
    return ModelFamily(
        name="pair",
        model_types=("pair",),
        config=lambda raw: convert(raw, PairConfig),
        build=Pair,
        rename=rename,
        need=lambda config, item: Need(weights=2 * item * config.vocab_size * config.hidden_size),
        float32=("decay",),
    )


@pytest.fixture(scope="session")
def pair_folder_arguments():
    return {"config": CONFIG, "shapes": SHAPES}


@pytest.fixture
def folder(tmp_path):
    """A model folder that nothing is wrong with, for a test to change."""
    return write_sketch(tmp_path / "pair", config=CONFIG, shapes=SHAPES)


@pytest.fixture
def opened(folder):
    return open_folder(folder)
