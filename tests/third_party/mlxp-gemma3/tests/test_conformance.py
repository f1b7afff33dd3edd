"""Gemma 3 against the shared kit."""

import pytest
from mlxp_gemma3 import plugin as module

from mlxp_core.testing.family import FamilySuite
from mlxp_core.testing.plugin import PluginSuite


class TestPlugin(PluginSuite):
    @pytest.fixture
    def plugin(self):
        return module


class TestFamily(FamilySuite):
    @pytest.fixture
    def family(self):
        return module.mlxp_model_families()[0]

    @pytest.fixture
    def tiny_config(self):
        return {
            "model_type": "gemma3_text",
            "hidden_size": 32,
            "intermediate_size": 48,
            "num_hidden_layers": 3,
            "num_attention_heads": 4,
            "num_key_value_heads": 1,
            "head_dim": 16,
            "vocab_size": 97,
            "layer_types": ["sliding_attention", "sliding_attention", "full_attention"],
            "sliding_window": 8,
            "query_pre_attn_scalar": 16,
        }
