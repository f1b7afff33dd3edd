"""The policies against the shared kit."""

import mlx.core as mx
import pytest

from mlxp_core.kv import PlainPolicy, QuantizedPolicy
from mlxp_core.testing.caches import CacheSuite
from mlxp_core.types import KVStorage

STORAGES = [KVStorage(8, 32), KVStorage(4, 32), KVStorage(4, 64)]


class TestPlain(CacheSuite):
    @pytest.fixture(params=[0, 3, 16], ids=lambda slack: f"slack {slack}")
    def policy(self, request):
        return PlainPolicy(mx.float32, slack=request.param)


class TestQuantized(CacheSuite):
    @pytest.fixture(params=STORAGES, ids=lambda storage: storage.label)
    def storage(self, request):
        return request.param

    @pytest.fixture
    def policy(self, storage):
        return QuantizedPolicy(mx.float32, {0: storage}, slack=3)

    @pytest.fixture
    def dim(self, storage):
        return storage.group_size

    @pytest.fixture
    def stored(self, storage):
        how = {"group_size": storage.group_size, "bits": storage.bits}
        return lambda part: mx.dequantize(*mx.quantize(part, **how), **how) if part.size else part
