"""The eyes, of every kind, against the shared kit."""

import mlx.core as mx
import pytest

from mlxp_core.testing.networks import parameters
from mlxp_core.testing.vision import VisionSuite
from mlxp_gemma4 import plugin


class TestEyes(VisionSuite):
    @pytest.fixture
    def tower(self):
        return plugin.mlxp_vision_towers()[0]

    @pytest.fixture
    def family(self):
        return plugin.mlxp_model_families()[0]

    @pytest.fixture
    def tiny_config(self, seeing):
        return seeing

    @pytest.fixture
    def checkpoint(self, network, original_name):
        own = {original_name(name): value for name, value in parameters(network).items()}
        return {**own, "model.embed_audio.embedding_projection.weight": mx.zeros((2, 2))}
