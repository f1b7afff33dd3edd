"""What is read from headers is what is in memory once it is loaded."""

import math

import mlx.core as mx
import pytest
from mlx import nn
from mlx.utils import tree_flatten
from msgspec.structs import replace

from mlxp_core.loading.folder import open_folder
from mlxp_core.loading.network import load_network
from mlxp_core.loading.weighing import weigh
from mlxp_core.memory import MemoryPlan
from mlxp_core.types import EngineSettings, KVScheme, KVStorage, LayerNeed, Machine, Need

CPU = Machine(backend="cpu", chip="any", ram_bytes=2**30, usable_bytes=2**29)
METAL = Machine(backend="metal", chip="M1", ram_bytes=2**30, usable_bytes=2**29, bandwidth_gbs=68.0)


@pytest.fixture
def counted(pair):
    """The family, with a need of weights that is nobody's guess: the files say it."""
    return replace(pair, need=lambda *_: Need())


@pytest.mark.parametrize("dtype", ["auto", "float32", "bfloat16"])
def test_weights_weigh_what_they_are_loaded_as(counted, opened, dtype):
    config = counted.config(opened.config)
    network = load_network(opened, counted, config, dtype=dtype)
    assert weigh(opened, counted, config, CPU, dtype=dtype).footprint.weights == network.weight_bytes


def test_parameters_that_stay_float32_are_counted_so(counted, opened):
    config = counted.config(opened.config)
    numbers = sum(
        math.prod(tensor.shape) for name, tensor in opened.tensors.items() if name != "spare.weight"
    )
    assert weigh(opened, counted, config, METAL, dtype="float16").footprint.weights == 2 * numbers + 2 * 64


def test_elsewhere_weights_stay_as_they_are_stored_and_on_a_processor_they_do_not(counted, folder):
    arrays = {
        name: array.astype(mx.bfloat16) for name, array in mx.load(str(folder / "model.safetensors")).items()
    }
    mx.save_safetensors(str(folder / "model.safetensors"), arrays)
    opened = open_folder(folder)
    config = counted.config(opened.config)
    numbers = sum(array.size for name, array in arrays.items() if name != "spare.weight")
    assert weigh(opened, counted, config, METAL).footprint.weights == 2 * numbers + 2 * 64
    assert weigh(opened, counted, config, CPU).footprint.weights == 4 * numbers


def test_packed_weights_weigh_their_bits(counted, folder):
    opened = open_folder(folder)
    config = counted.config(opened.config)
    model = counted.build(config)
    nn.quantize(model, group_size=64, bits=4)
    mx.save_safetensors(str(folder / "model.safetensors"), dict(tree_flatten(model.parameters())))
    packed = open_folder(folder)
    network = load_network(packed, counted, config)
    assert weigh(packed, counted, config, CPU).footprint.weights == network.weight_bytes


def test_keys_and_values_weigh_what_the_scheme_says(pair, opened):
    layers = tuple(LayerNeed(number=number, heads=2, key_dim=64, value_dim=64) for number in range(4))
    family = replace(pair, need=lambda *_: Need(weights=1, layers=layers))
    config = family.config(opened.config)

    def slot(kv):
        return sum(kind.nbytes for kind in weigh(opened, family, config, CPU, kv=kv).footprint.slots)

    assert slot(None) == slot(KVScheme()) == 4 * 256 * 4
    eight, four = 256 + 2 * 4 * 4, 128 + 2 * 4 * 4
    assert slot(KVScheme(mode="8", uniform=KVStorage(8, 64))) == 4 * eight
    mixed = KVScheme(mode="config", layers={0: KVStorage(8, 64), 2: KVStorage(4, 64)})
    assert slot(mixed) == eight + four + 2 * 256 * 4


def test_a_plan_weighs_each_back_end_once(counted, opened):
    asked = []

    def reckon(machine):
        asked.append(machine.backend)
        return weigh(opened, counted, counted.config(opened.config), machine)

    plan = MemoryPlan({"pair": reckon}, CPU, EngineSettings())
    told = plan.fit("pair", skus=True)
    assert sorted(asked) == ["cpu", "metal"]
    assert len(told.sku_matrix) == 41
    assert told.report.max_safe_context == opened.context == 512
