"""The plugin and its family against the shared kit."""

import pytest

from mlxp_core.testing.family import FamilySuite
from mlxp_core.testing.plugin import PluginSuite
from mlxp_minicpm5 import plugin


class TestPlugin(PluginSuite):
    @pytest.fixture
    def plugin(self):
        return plugin


class TestFamily(FamilySuite):
    @pytest.fixture
    def family(self):
        return plugin.mlxp_model_families()[0]

    @pytest.fixture
    def tiny_config(self, llama_config):
        return llama_config

    @pytest.fixture
    def parity(self, golden):
        return golden


class TestTiedWithBiases(FamilySuite):
    """The same laws where the head is the embedding table and every projection has a bias."""

    @pytest.fixture
    def family(self):
        return plugin.mlxp_model_families()[0]

    @pytest.fixture
    def tiny_config(self, llama_config):
        return {**llama_config, "tie_word_embeddings": True, "attention_bias": True, "mlp_bias": True}
