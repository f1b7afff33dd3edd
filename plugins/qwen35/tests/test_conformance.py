"""The plugin and its family, dense and with experts, against the shared kit."""

import pytest

from mlxp_core.testing.family import FamilySuite
from mlxp_core.testing.networks import parameters
from mlxp_core.testing.plugin import PluginSuite
from mlxp_qwen35 import plugin


class TestPlugin(PluginSuite):
    @pytest.fixture
    def plugin(self):
        return plugin


class _Qwen35(FamilySuite):
    @pytest.fixture
    def family(self):
        return plugin.mlxp_model_families()[0]


class TestDense(_Qwen35):
    @pytest.fixture
    def tiny_config(self, recording):
        return recording("dense")["config"]

    @pytest.fixture
    def parity(self, recording, as_golden):
        return as_golden(recording("dense"))


class TestExperts(_Qwen35):
    @pytest.fixture
    def tiny_config(self, recording):
        return recording("experts")["config"]

    @pytest.fixture
    def parity(self, recording, as_golden):
        return as_golden(recording("experts"))


class TestMultimodal(_Qwen35):
    """The text half of a model with images; one key head for all value heads, tied, published names."""

    @pytest.fixture
    def tiny_config(self, dense, multimodal):
        return multimodal(
            {**dense, "linear_num_key_heads": 1, "num_key_value_heads": 1, "tie_word_embeddings": True}
        )

    @pytest.fixture
    def checkpoint(self, network, published):
        return published(parameters(network))
