"""Every checkpoint of every family weighs what it takes once it is loaded, rows included."""

import mlx.core as mx
import pytest

from mlxp_core.kv import BatchCache, forward
from mlxp_core.loading import choose_family, open_folder
from mlxp_core.loading.network import load_network
from mlxp_core.loading.weighing import weigh
from mlxp_core.memory.device import this_machine
from mlxp_core.types import KVScheme, KVStorage
from mlxp_gemma4.plugin import mlxp_model_families as gemma4
from mlxp_minicpm5.plugin import mlxp_model_families as minicpm5
from mlxp_qwen35.plugin import mlxp_model_families as qwen35

FAMILIES = {family.name: family for bring in (gemma4, minicpm5, qwen35) for family in bring()}
SCHEMES = (
    KVScheme(),
    KVScheme(mode="8", uniform=KVStorage(8, 64)),
    KVScheme(mode="4", uniform=KVStorage(4, 64)),
)


def test_every_checkpoint_weighs_what_it_takes(tiny_checkpoints):
    folders = [path.parent for path in sorted(tiny_checkpoints.glob("*/config.json"))]
    assert len(folders) > 10
    for path in folders:
        folder = open_folder(path)
        family, config = choose_family(folder, FAMILIES)
        network = load_network(folder, family, config)
        weights = weigh(folder, family, config, this_machine()).footprint.weights
        assert weights == pytest.approx(network.weight_bytes, rel=0.05), path.name


@pytest.mark.parametrize("name", ["gemma4-e2b", "gemma4-12b-unified", "minicpm5", "qwen35"])
def test_rows_weigh_what_they_take_in_every_scheme(tiny_checkpoints, name):
    folder = open_folder(tiny_checkpoints / name)
    family, config = choose_family(folder, FAMILIES)
    for scheme in SCHEMES:
        network = load_network(folder, family, config, kv=scheme)
        footprint = weigh(folder, family, config, this_machine(), kv=scheme).footprint
        cache = BatchCache(network.model.make_caches(network.policy))
        for _ in range(3):
            forward(network.model, cache, mx.ones((1, 100), dtype=mx.int32))
            (length,) = cache.lengths
            assert footprint.row(length) == pytest.approx(cache.nbytes, rel=0.05), (scheme.mode, length)
