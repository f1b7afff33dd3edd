"""Experts: the formula, whatever the order, type and packing."""

import mlx.core as mx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mlx import nn
from mlx.utils import tree_flatten

from mlxp_core.nn import ExpertStack, QuantizedExpertStack, RoutedFeedForward

EXPERTS, HIDDEN, INNER = 6, 32, 64


def drawn(*shape, seed=0):
    return mx.random.normal(shape, key=mx.random.key(seed))


def routed(tokens, k, seed=0):
    indices = mx.random.randint(0, EXPERTS, (*tokens, k), key=mx.random.key(seed))
    return (
        drawn(*tokens, HIDDEN, seed=seed + 1),
        indices,
        mx.softmax(drawn(*tokens, k, seed=seed + 2), axis=-1),
    )


def layer(gate="silu"):
    made = RoutedFeedForward(EXPERTS, HIDDEN, INNER, gate)
    for seed, stack in enumerate((made.gate_proj, made.up_proj, made.down_proj)):
        stack.weight = drawn(*stack.weight.shape, seed=seed) * stack.weight.shape[-1] ** -0.5
    return made


def plain(made, x, indices, weights, act=nn.silu):
    """Compute every token and choice by itself."""
    rows, chosen = x.reshape(-1, HIDDEN), indices.reshape(-1, indices.shape[-1])
    shares, out = weights.reshape(chosen.shape), []
    for row, experts, parts in zip(rows, chosen.tolist(), shares, strict=True):
        said = [
            (act(row @ made.gate_proj.weight[e].T) * (row @ made.up_proj.weight[e].T))
            @ made.down_proj.weight[e].T
            for e in experts
        ]
        out.append(sum(part * one for part, one in zip(parts, said, strict=True)))
    return mx.stack(out).reshape(x.shape)


@given(st.lists(st.integers(1, 4), min_size=1, max_size=2), st.integers(1, 3), st.integers(0, 99))
@settings(max_examples=25, deadline=None)
def test_it_is_the_formula_for_few_tokens_and_for_many(tokens, k, seed):
    made, (x, indices, weights) = layer(), routed(tokens, k, seed)
    assert mx.allclose(made(x, indices, weights), plain(made, x, indices, weights), atol=1e-4)


@pytest.mark.parametrize(("gate", "act"), [("silu", nn.silu), ("gelu_tanh", nn.gelu_approx)])
def test_both_gates_are_the_formula(gate, act):
    made, (x, indices, weights) = layer(gate), routed((2, 5), 2)
    assert mx.allclose(made(x, indices, weights), plain(made, x, indices, weights, act), atol=1e-4)


def test_a_token_says_alone_what_it_says_among_many():
    made, (x, indices, weights) = layer(), routed((40,), 2)
    assert indices.size >= EXPERTS > indices[:1].size
    alone = mx.concatenate([made(x[t : t + 1], indices[t : t + 1], weights[t : t + 1]) for t in range(40)])
    assert mx.allclose(made(x, indices, weights), alone, atol=1e-5)


def test_a_stack_is_one_linear_layer_for_each_expert():
    stack, (x, indices, _) = ExpertStack(EXPERTS, HIDDEN, 8), routed((2, 3), 4)
    found = stack(x, indices)
    assert found.shape == (2, 3, 4, 8)
    expected = (stack.weight[indices] @ x[:, :, None, :, None]).squeeze(-1)
    assert mx.allclose(found, expected, atol=1e-5)


@pytest.mark.parametrize("dtype", [mx.bfloat16, mx.float16])
def test_sixteen_bits_stay_sixteen_bits(dtype):
    stack, (x, indices, _) = ExpertStack(EXPERTS, HIDDEN, 8), routed((3,), 2)
    expected = stack(x, indices)
    stack.set_dtype(dtype)
    found = stack(x.astype(dtype), indices)
    assert found.dtype == dtype
    assert mx.allclose(found.astype(mx.float32), expected, atol=0.05)


def test_the_sum_has_the_type_of_the_tokens():
    made, (x, indices, weights) = layer(), routed((3,), 2)
    made.set_dtype(mx.bfloat16)
    assert made(x.astype(mx.bfloat16), indices, weights).dtype == mx.bfloat16


@pytest.mark.parametrize(
    ("mode", "bits", "group"), [("affine", 4, 64), ("affine", 8, 32), ("mxfp4", 4, 32), ("nvfp4", 4, 16)]
)
def test_packed_it_computes_what_its_unpacked_weights_say(mode, bits, group):
    stack = ExpertStack(EXPERTS, 64, 8)
    packed = stack.to_quantized(group_size=group, bits=bits, mode=mode)
    stack.weight = mx.dequantize(
        packed.weight, packed.scales, packed.biases, group_size=group, bits=bits, mode=mode
    )
    x, indices = drawn(5, 64), mx.array([[0, 3], [5, 5], [1, 0], [2, 4], [3, 3]])
    assert mx.allclose(packed(x, indices), stack(x, indices), atol=1e-4)
    order = mx.array([[0], [1], [1], [4], [5]])
    assert mx.allclose(packed(x, order, ascending=True), stack(x, order, ascending=True), atol=1e-4)


def test_a_routed_layer_is_quantized_as_any_other():
    made, (x, indices, weights) = layer(), routed((9,), 2)
    before = made(x, indices, weights)
    nn.quantize(made, group_size=32, bits=8)
    assert isinstance(made.gate_proj, QuantizedExpertStack)
    names = {
        f"{stack}_proj.{part}" for stack in ("gate", "up", "down") for part in ("weight", "scales", "biases")
    }
    assert {name for name, _ in tree_flatten(made.parameters())} == names
    assert mx.allclose(made(x, indices, weights), before, atol=0.05)


def test_packed_weights_are_frozen():
    made = layer()
    nn.quantize(made, group_size=32, bits=8)
    assert not tree_flatten(made.trainable_parameters())


def test_a_group_that_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="divisible"):
        ExpertStack(2, 48, 8).to_quantized(group_size=32, bits=4)
