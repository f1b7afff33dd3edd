"""Parrot against the shared kit."""

import pytest
from mlxp_parrot import plugin as module

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
        return {"model_type": "parrot", "vocab_size": 97, "hidden_size": 8}
