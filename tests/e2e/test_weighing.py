"""Every checkpoint of every family weighs what it takes once it is loaded, rows included."""

import gc

import mlx.core as mx
import pytest

from mlxp_core.engine import LoadPlan
from mlxp_core.engine.speculation.drafting import load_drafter
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


@pytest.mark.parametrize(
    ("name", "drafter"),
    [("qwen35-text", None), ("qwen35-moe", None), ("minicpm5", "minicpm5"), ("qwen35", "qwen35")],
)
def test_what_guesses_weighs_what_it_takes(tiny_checkpoints, name, drafter):
    """A draft head, or a smaller model, which here is the model itself: weights, and what rows hold."""

    def plan(name, **more):
        folder = open_folder(tiny_checkpoints / name)
        family, config = choose_family(folder, FAMILIES)
        return LoadPlan(folder=folder, family=family, config=config, **more)

    def weighed(plan, **more):
        return weigh(plan.folder, plan.family, plan.config, this_machine(), head=plan.head, **more)

    draft = None if drafter is None else plan(drafter)
    whole = plan(name, head=draft is None, draft=draft)
    network = load_network(whole.folder, whole.family, whole.config)
    gc.collect()
    before = mx.get_active_memory()
    found = load_drafter(whole, network, lambda done, total: None)
    own, both = weighed(plan(name)), weighed(whole, draft=None if draft is None else weighed(draft))
    assert both.footprint.weights - own.footprint.weights == pytest.approx(
        mx.get_active_memory() - before, rel=0.02
    )
    cache = BatchCache(network.model.make_caches(network.policy), drafter=found)
    for _ in range(3):
        forward(network.model, cache, mx.ones((1, 100), dtype=mx.int32))
        (length,) = cache.lengths
        assert both.footprint.row(length) == pytest.approx(cache.nbytes, rel=0.02), length
