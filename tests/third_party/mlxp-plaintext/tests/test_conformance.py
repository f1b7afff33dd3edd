"""The plain-text protocol against the shared kit."""

import pytest
from mlxp_plaintext import plugin as module

from mlxp_core.testing.plugin import PluginSuite


class TestPlugin(PluginSuite):
    @pytest.fixture
    def plugin(self):
        return module
