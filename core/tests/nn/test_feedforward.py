import threading

import mlx.core as mx
import pytest
from mlx import nn
from mlx.utils import tree_flatten

from mlxp_core.nn import GatedFeedForward, gated


@pytest.mark.parametrize(("gate", "act"), [("silu", nn.silu), ("gelu_tanh", nn.gelu_approx)])
def test_it_is_the_formula(gate, act):
    layer, x = GatedFeedForward(8, 24, gate), mx.random.normal((2, 3, 8), key=mx.random.key(0))
    expected = (act(x @ layer.gate_proj.weight.T) * (x @ layer.up_proj.weight.T)) @ layer.down_proj.weight.T
    assert mx.allclose(layer(x), expected, atol=1e-5)


def test_names_are_those_of_checkpoints():
    names = {name for name, _ in tree_flatten(GatedFeedForward(4, 8, "silu").parameters())}
    assert names == {"gate_proj.weight", "up_proj.weight", "down_proj.weight"}
    with_bias = {name for name, _ in tree_flatten(GatedFeedForward(4, 8, "silu", bias=True).parameters())}
    assert with_bias == names | {name.replace("weight", "bias") for name in names}


@pytest.mark.parametrize("gate", ["silu", "gelu_tanh"])
def test_a_fused_gate_serves_any_thread(gate):
    function, found = gated(gate), []
    for length in (3, 5):
        worker = threading.Thread(
            target=lambda n=length: found.append(function(mx.ones((n,)), mx.full((n,), 2.0)).tolist())
        )
        worker.start()
        worker.join()
    assert [len(values) for values in found] == [3, 5]
    assert found[0][0] == pytest.approx(found[1][0])
