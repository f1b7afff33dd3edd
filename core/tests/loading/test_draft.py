"""Draft heads: loaded by their own names, on demand, from the checkpoint of the network they guess for."""

import mlx.core as mx
import pytest
from mlx import nn
from mlx.utils import tree_flatten
from msgspec.structs import replace

from mlxp_core.contracts import DraftHead
from mlxp_core.errors import ModelFolderError, PluginError
from mlxp_core.loading import open_folder
from mlxp_core.loading.draft import load_draft
from mlxp_core.types import Need

FILE = "model.safetensors"


class Guess(nn.Module):
    """One linear layer over hidden states and embeddings."""

    def __init__(self, config):
        super().__init__()
        self.join = nn.Linear(2 * config.hidden_size, config.hidden_size, bias=False)
        self.decay = mx.zeros((config.hidden_size,))

    def __call__(self, inputs, hidden, caches):
        return self.join(mx.concatenate([inputs.embeddings, hidden], axis=-1))

    def make_caches(self, policy):
        return []


def rename(name):
    return name.removeprefix("guess.") if name.startswith("guess.") else None


def need(config, value_bytes):
    return Need(fixed=config.hidden_size * value_bytes)


HEAD = DraftHead(name="guess", build=Guess, rename=rename, need=need, float32=("decay",))


@pytest.fixture
def family(pair):
    """The small family, which leaves the draft head's tensors to it."""

    def keep(name):
        return None if rename(name) is not None else pair.rename(name)

    return replace(pair, rename=keep, draft_head=HEAD)


@pytest.fixture
def drafted(folder):
    """A function that puts tensors of a draft head into the folder and opens it."""

    def make(tensors):
        stored = {
            **mx.load(str(folder / FILE)),
            **{f"guess.{name}": value for name, value in tensors.items()},
        }
        mx.eval(list(stored.values()))
        mx.save_safetensors(str(folder / FILE), stored)
        return open_folder(folder)

    return make


JOIN = mx.random.normal((64, 128), key=mx.random.key(0))
DECAY = mx.random.normal((64,), key=mx.random.key(1))


def load(opened, family, **options):
    return load_draft(opened, family, family.config(opened.config), **options)


def parameters(network):
    return dict(tree_flatten(network.parameters()))


def test_its_parameters_are_what_was_stored(drafted, family):
    found = parameters(load(drafted({"join.weight": JOIN, "decay": DECAY}), family))
    assert mx.array_equal(found["join.weight"], JOIN)
    assert mx.array_equal(found["decay"], DECAY)


def test_types_are_those_of_the_network(drafted, family):
    found = parameters(load(drafted({"join.weight": JOIN, "decay": DECAY}), family, dtype="bfloat16"))
    assert (found["join.weight"].dtype, found["decay"].dtype) == (mx.bfloat16, mx.float32)


def test_it_may_be_quantized(drafted, family):
    weight, scales, biases = mx.quantize(JOIN, group_size=64, bits=8)
    packed = {"join.weight": weight, "join.scales": scales, "join.biases": biases, "decay": DECAY}
    found = load(drafted(packed), family)
    assert isinstance(found.join, nn.QuantizedLinear)


def test_without_tensors_there_is_none(drafted, family, pair):
    assert load(drafted({}), family) is None
    assert load(drafted({"join.weight": JOIN}), pair) is None


def test_a_conversion_may_leave_nothing(drafted, family):
    cleared = replace(family, draft_head=replace(HEAD, convert=lambda arrays, _: arrays.clear()))
    assert load(drafted({"join.weight": JOIN, "decay": DECAY}), cleared) is None


def test_what_does_not_fit_is_told_of_the_head(drafted, family):
    with pytest.raises(ModelFolderError, match=r"draft head 'guess': .*1 missing: decay"):
        load(drafted({"join.weight": JOIN}), family)


def test_a_head_that_is_no_network_is_a_plugins_fault(drafted, family):
    broken = replace(family, draft_head=replace(HEAD, build=lambda _: {}))
    with pytest.raises(PluginError, match="'guess' builds a dict"):
        load(drafted({"join.weight": JOIN, "decay": DECAY}), broken)
