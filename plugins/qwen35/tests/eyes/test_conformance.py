"""The eyes, as published and as converted, against the shared kit."""

import pytest

from mlxp_core.testing.networks import parameters
from mlxp_core.testing.vision import VisionSuite
from mlxp_qwen35 import plugin


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
    def settings(self):
        return {"size": {"shortest_edge": 500, "longest_edge": 4000}, "patch_size": 4, "merge_size": 2}

    @pytest.fixture(params=[True, False], ids=["original", "converted"])
    def checkpoint(self, network, as_stored, request):
        own = parameters(network).items()
        return dict(as_stored(name, value, original=request.param) for name, value in own)
