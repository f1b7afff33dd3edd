"""Qwen 3.5's thinking, against the kit."""

import pytest

from mlxp_core.testing.formats import ThinkingFormatSuite
from mlxp_qwen35 import thinking


class TestThinking(ThinkingFormatSuite):
    @pytest.fixture
    def thinking_format(self):
        return thinking.FORMAT
