"""What the shared laws do not say of this network: state to the bit, and the mixture of experts by its formula."""

import mlx.core as mx
import pytest
from mlx import nn

from mlxp_core.kv import RecurrentCache
from mlxp_core.testing.networks import Session
from mlxp_qwen35.config import Experts
from mlxp_qwen35.positions import ShiftCache
from mlxp_qwen35.text import MixtureOfExperts


def states(session, row):
    """Return a row's convolution tokens and matrices, of all layers."""
    return [part[row] for cache in session.cache.layers[1:4] for part in cache.state]


@pytest.mark.parametrize("width", [1, 3, 30])
def test_a_row_that_sits_a_pass_out_keeps_every_bit(network, either, width):
    session, other = Session(network(either)), Session(network(either))
    session.read([[5, 6, 7, 8, 9, 10]])
    session.cache.join(other.cache)
    before = states(session, 0)
    session.read([[], [11] * width])
    assert all(mx.array_equal(one, kept) for one, kept in zip(states(session, 0), before, strict=True))
    assert all(part.any() for part in states(session, 1))


def test_there_is_a_cache_for_shifts_and_one_for_each_layer(network, dense):
    shift, *layers = Session(network(dense)).cache.layers
    assert isinstance(shift, ShiftCache)
    assert [isinstance(layer, RecurrentCache) for layer in layers] == [True, True, True, False]


def test_matrices_are_float32_in_sixteen_bits_too(network, dense):
    made = network(dense)
    made.set_dtype(mx.bfloat16)
    session = Session(made)
    session.read([[1, 2, 3, 4, 5, 6]])
    session.read([[7]])
    last, memory = session.cache.layers[1].state
    assert (last.dtype, memory.dtype) == (mx.bfloat16, mx.float32)


def test_the_mixture_is_its_formula():
    layer = MixtureOfExperts(32, Experts(count=5, chosen=2, inner=16, shared=24))
    x = mx.random.normal((2, 7, 32), key=mx.random.key(0))
    stacks, shared = layer.switch_mlp, layer.shared_expert(x) * mx.sigmoid(layer.shared_expert_gate(x))
    for token in [(0, 0), (1, 3), (1, 6)]:
        said, likely = x[token], mx.softmax(layer.gate(x[token]), axis=-1)
        chosen = mx.argsort(-likely)[:2].tolist()
        answers = [
            stacks.down_proj.weight[e]
            @ (nn.silu(stacks.gate_proj.weight[e] @ said) * (stacks.up_proj.weight[e] @ said))
            for e in chosen
        ]
        shares = [likely[e] / (likely[chosen[0]] + likely[chosen[1]]) for e in chosen]
        expected = shares[0] * answers[0] + shares[1] * answers[1] + shared[token]
        assert mx.allclose(layer(x)[token], expected, atol=1e-5)
