"""The plugin and its family, in every shape, against the shared kit."""

import pytest

from mlxp_core.testing.family import FamilySuite
from mlxp_core.testing.plugin import PluginSuite
from mlxp_gemma4 import plugin


class TestPlugin(PluginSuite):
    @pytest.fixture
    def plugin(self):
        return plugin


class _Gemma4(FamilySuite):
    @pytest.fixture
    def family(self):
        return plugin.mlxp_model_families()[0]

    @pytest.fixture
    def absent_targets(self):
        return frozenset({"per_layer_input_gate", "per_layer_projection"})


class TestPerLayerEmbeddings(_Gemma4):
    @pytest.fixture
    def tiny_config(self, per_layer):
        return per_layer["config"]

    @pytest.fixture
    def parity(self, per_layer, as_golden):
        return as_golden(per_layer)

    @pytest.fixture
    def absent_targets(self):
        return frozenset()


class TestExperts(_Gemma4):
    @pytest.fixture
    def tiny_config(self, routed):
        return routed["config"]

    @pytest.fixture
    def parity(self, routed, as_golden):
        return as_golden(routed)


class TestDense(_Gemma4):
    @pytest.fixture
    def tiny_config(self, dense):
        return dense


class TestUnified(_Gemma4):
    @pytest.fixture
    def tiny_config(self, unified_dense):
        return unified_dense
