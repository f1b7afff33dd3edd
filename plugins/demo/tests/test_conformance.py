"""The plugin against the shared kit."""

import pytest

from mlxp_core.testing.plugin import PluginSuite
from mlxp_demo import plugin


class TestPlugin(PluginSuite):
    @pytest.fixture
    def plugin(self):
        return plugin
