"""Bits for modules: the documented example, and what holds whatever was measured."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlxp_lab.quantize.allocate import Allocation, Measured, Rules, allocate

SHAPES = {
    "q_proj": 1_048_576,
    "k_proj": 262_144,
    "v_proj": 262_144,
    "o_proj": 1_048_576,
    "gate_proj": 3_145_728,
    "up_proj": 3_145_728,
    "down_proj": 3_145_728,
}


def path_of(block, name):
    return f"model.layers.{block}.{'self_attn' if name[0] in 'qkvo' else 'mlp'}.{name}"


def example():
    return [
        Measured(path_of(block, name), {4: 0.0, 8: 0.001 * (block + 1) * (1 + 0.1 * place)}, weights)
        for block in range(3)
        for place, (name, weights) in enumerate(SHAPES.items())
    ]


def test_the_documented_example():
    told = allocate(example(), 5.0, [4, 8])
    high = {path for path, bits in told.bits.items() if bits == 8}
    assert high == {
        *(path_of(0, name) for name in ("q_proj", "k_proj", "v_proj")),
        *(path_of(1, name) for name in ("q_proj", "k_proj")),
        *(path_of(2, name) for name in ("q_proj", "k_proj", "v_proj", "o_proj", "up_proj", "down_proj")),
    }
    assert told.bits_per_weight == pytest.approx(5.304347826086956, abs=1e-12)
    assert (len(high), len(told.bits) - len(high)) == (11, 10)


def test_nothing_costs_nothing():
    assert allocate([]) == Allocation({}, 0.0)


NAMES = [path_of(block, name) for block in range(6) for name in SHAPES]
VALUES = st.one_of(st.floats(0, 10), st.just(math.nan), st.just(math.inf))


@st.composite
def measured(draw):
    names = draw(
        st.lists(st.sampled_from([*NAMES, "lm_head", "model.embed_tokens"]), min_size=1, unique=True)
    )
    return [
        Measured(name, {bits: draw(VALUES) for bits in (2, 4, 8)}, draw(st.integers(1, 10**6)))
        for name in names
    ]


@given(modules=measured(), target=st.floats(1, 10))
def test_every_module_gets_one_of_the_candidates_in_order(modules, target):
    told = allocate(modules, target, (2, 4, 8))
    assert list(told.bits) == [module.path for module in modules]
    assert set(told.bits.values()) <= {2, 4, 8}


PLAIN = Rules(floor=0, longest_run=1000, protect=0)


@given(modules=measured(), target=st.floats(2, 8))
def test_without_rules_the_target_is_reached_if_raising_helps_at_all(modules, target):
    helped = [Measured(m.path, {2: 3.0, 4: 2.0, 8: 1.0}, m.weights) for m in modules]
    told = allocate(helped, target, (2, 4, 8), PLAIN)
    assert told.bits_per_weight >= target - 1e-9


@given(modules=measured(), target=st.floats(2, 8))
def test_within_a_budget_nothing_more_fits_into_what_is_left(modules, target):
    helped = [Measured(m.path, {2: 3.0, 4: 2.0, 8: 1.0}, m.weights) for m in modules]
    total = sum(m.weights for m in helped)
    told = allocate(helped, target, (2, 4, 8), Rules(floor=0, longest_run=1000, protect=0, within=True))
    assert told.bits_per_weight <= target + 1e-9
    left = (target - told.bits_per_weight) * total
    raises = [{2: 2, 4: 4}[told.bits[m.path]] * m.weights for m in helped if told.bits[m.path] < 8]
    assert all(left < more + 1e-6 * total for more in raises)


@given(st.permutations(range(6)))
def test_what_hurts_more_is_raised_first(order):
    modules = [
        Measured(f"x.layers.{place}.mlp.up_proj", {4: 1.0 + hurt, 8: 0.0}, 100)
        for place, hurt in enumerate(order)
    ]
    told = allocate(modules, 6.0, (4, 8), PLAIN)
    raised = {place for place, bits in enumerate(told.bits.values()) if bits == 8}
    assert raised == {place for place, hurt in enumerate(order) if hurt >= 3}


def test_no_long_run_of_blocks_is_left_with_the_fewest_bits():
    modules = [
        Measured(f"m.layers.{block}.mlp.{name}", {4: 0.01, 8: 0.0}, 100)
        for block in range(9)
        for name in ("gate_proj", "up_proj", "down_proj")
    ]
    told = allocate(modules, 4.0, (4, 8), Rules(floor=0, protect=0, longest_run=3))
    raised = {int(path.split(".")[2]) for path, bits in told.bits.items() if bits == 8}
    assert raised == {0, 3, 6}
