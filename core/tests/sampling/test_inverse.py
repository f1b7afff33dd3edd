"""Inverting a cumulative distribution in float32."""

import mlx.core as mx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlxp_core.sampling.inverse import _first, invert, mass_before, tiles

LENGTHS = st.sampled_from([1, 2, 5, 511, 512, 1024, 1025, 4000])
ALMOST_ONE = 1 - 2**-24


def sparse_weights(length, seed, share):
    rng = np.random.default_rng(seed)
    weights = rng.exponential(size=(3, length)).astype(np.float32) ** 4
    weights[rng.random(weights.shape) > share] = 0
    weights[:, rng.integers(length)] = 1  # never all zero
    return weights


@settings(deadline=None, max_examples=60)
@given(LENGTHS, st.integers(0, 999), st.sampled_from([0.0, 0.01, 0.5, 1.0]), st.integers(0, 2**24 - 1))
def test_agrees_with_float64_up_to_rounding(length, seed, share, number):
    weights, u = sparse_weights(length, seed, share), number / 2**24
    chosen = np.array(invert(mx.array(weights), mx.full((3,), u)))
    running = np.cumsum(weights.astype(np.float64), axis=-1)
    for row, index in enumerate(chosen):
        total = running[row, -1]
        before = running[row, index - 1] if index else 0.0
        assert before - 1e-5 * total <= u * total <= running[row, index] + 1e-5 * total
        assert weights[row, index] > 0


@settings(deadline=None, max_examples=60)
@given(LENGTHS, st.integers(0, 999), st.sampled_from([0.0, 0.3]), st.sampled_from([0.0, 0.5, ALMOST_ONE]))
def test_weight_zero_is_never_chosen(length, seed, share, u):
    weights = sparse_weights(length, seed, share) * np.float32(1e-30)
    chosen = np.array(invert(mx.array(weights), mx.full((3,), u)))
    assert (weights[np.arange(3), chosen] > 0).all()


@pytest.mark.parametrize("length", [7, 262_144])
def test_ends_belong_to_the_first_and_last_possible_entries(length):
    weights = np.zeros((1, length), np.float32)
    weights[0, 2:5] = 0.1
    assert invert(mx.array(weights), mx.array([0.0])).item() == 2
    assert invert(mx.array(weights), mx.array([ALMOST_ONE])).item() == 4


def test_flat_sums_over_a_large_vocabulary_stay_exact():
    length = 262_144
    flat = mx.full((1, length), 1 / 250_000)
    exact = np.arange(length) / 250_000
    assert np.abs(np.array(mass_before(flat))[0] - exact).max() < 2e-5
    for u in (0.1, 0.5, 0.9, 0.999):
        assert abs(invert(flat, mx.array([u])).item() / length - u) < 2e-5


@settings(deadline=None, max_examples=30)
@given(LENGTHS, st.integers(0, 99))
def test_mass_before_is_what_stands_before(length, seed):
    weights = sparse_weights(length, seed, 0.7)
    exact = np.cumsum(weights.astype(np.float64), axis=-1) - weights
    assert np.allclose(np.array(mass_before(mx.array(weights))), exact, rtol=1e-5, atol=1e-5)


@given(st.integers(1, 40), st.integers(1, 9))
def test_tiles_hold_the_row_and_filling(length, block):
    row = np.arange(2 * length, dtype=np.float32).reshape(2, length)
    tiled = np.array(tiles(mx.array(row), block, -1.0)).reshape(2, -1)
    assert (tiled[:, :length] == row).all()
    assert (tiled[:, length:] == -1).all()
    assert tiled.shape[1] - length < block


@settings(deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=20))
def test_sums_that_are_not_quite_monotone_or_fall_short_still_give_a_possible_entry(entries):
    """Parallel sums may step at an entry of weight zero, and a target may lie a rounding beyond the last sum."""
    passed, possible = zip(*entries, strict=True)
    chosen = _first(mx.array([passed]), mx.array([possible])).item()
    both = [index for index, entry in enumerate(entries) if all(entry)]
    rest = [index for index, (_, can) in enumerate(entries) if can]
    assert chosen == (both[0] if both else rest[-1] if rest else 0)
