"""The plain policy against the shared kit."""

import mlx.core as mx
import pytest

from mlxp_core.kv import PlainPolicy
from mlxp_core.testing.caches import CacheSuite


class TestPlain(CacheSuite):
    @pytest.fixture(params=[0, 3, 16], ids=lambda slack: f"slack {slack}")
    def policy(self, request):
        return PlainPolicy(mx.float32, slack=request.param)
