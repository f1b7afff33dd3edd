"""The plugin against the shared kit."""

import pytest

from mlxp_core.testing.plugin import PluginSuite
from mlxp_structured import plugin as module


class TestPlugin(PluginSuite):
    @pytest.fixture
    def plugin(self):
        return module
