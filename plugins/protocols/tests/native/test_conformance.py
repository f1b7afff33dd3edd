"""The native plugin against the shared kit."""

import pytest

from mlxp_core.testing.plugin import PluginSuite
from mlxp_protocols.native import plugin as module


class TestPlugin(PluginSuite):
    @pytest.fixture
    def plugin(self):
        return module
