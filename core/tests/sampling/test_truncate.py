"""Candidates and what the truncations leave of them."""

import math

import mlx.core as mx
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from mlxp_core.sampling.chain import Recipe
from mlxp_core.sampling.truncate import Cuts, likeliest

RECIPES = st.builds(
    Recipe,
    top_p=st.sampled_from([0.0, 0.01, 0.3, 0.9, 0.999]),
    top_k=st.sampled_from([0, 1, 2, 17, 64]),
    min_p=st.sampled_from([0.0, 0.001, 0.2, 1.0]),
)


def tied_rows(length, seed, levels):
    """Rows with few different values, as bfloat16 logits have, some of them forbidden."""
    rng = np.random.default_rng(seed)
    rows = rng.integers(levels, size=(3, length)).astype(np.float32) / 4
    rows[rng.random(rows.shape) < 0.1] = -np.inf
    rows[:, 0] = 0
    return rows


@settings(deadline=None, max_examples=80)
@given(
    st.sampled_from([1, 3, 64, 1000, 5000, 40_000]),
    st.sampled_from([1, 2, 20, 64, 512, 10**6]),
    st.integers(0, 999),
    st.sampled_from([1, 3, 40, 100_000]),
)
def test_likeliest_is_the_front_of_a_stable_sort(length, width, seed, levels):
    rows = tied_rows(length, seed, levels)
    values, ids = likeliest(mx.array(rows), width)
    order = np.argsort(-rows, axis=-1, kind="stable")[:, :width]
    assert (np.array(ids) == order).all()
    assert (np.array(values) == np.take_along_axis(rows, order, -1)).all()


def kept_by_definition(row, recipe, slack=0.0):
    """Ids that stay, straight from the definitions, in float64; ``slack`` is added to the mass that is asked for."""
    order = [token for token in np.argsort(-row, kind="stable") if row[token] > -np.inf]
    shares = np.exp(row[order].astype(np.float64) - row.max())
    shares /= shares.sum()
    stays, mass = set(), 0.0
    for rank, (token, share) in enumerate(zip(order, shares, strict=True)):
        if recipe.top_p and mass >= recipe.top_p + slack:
            break
        if recipe.top_k and rank >= recipe.top_k:
            break
        if recipe.min_p and share < recipe.min_p * shares[0] * (1 - 1e-6):
            break
        stays.add(int(token))
        mass += share
    return stays


@settings(deadline=None, max_examples=80)
@given(st.lists(RECIPES, min_size=3, max_size=3), st.sampled_from([30, 1500]), st.integers(0, 999))
def test_what_stays_follows_the_definitions(recipes, length, seed):
    rows = np.random.default_rng(seed).normal(scale=3, size=(3, length)).astype(np.float32)
    rows[:, length // 2] = -np.inf
    cut = np.array(Cuts(recipes).apply(mx.array(rows)))
    for row, recipe, left in zip(rows, recipes, cut, strict=True):
        stays = set(np.flatnonzero(left > -np.inf))  # float32 sums may cross the mass a token sooner or later
        assert kept_by_definition(row, recipe, -1e-5) <= stays <= kept_by_definition(row, recipe, 1e-5)
        assert (left[left > -np.inf] == row[left > -np.inf]).all()


def test_top_p_takes_the_smallest_set_that_reaches_the_mass():
    shares = [0.5, 0.25, 0.125, 0.125]
    logits = mx.array([[math.log(share) for share in shares]])
    for top_p, count in [(0.4, 1), (0.6, 2), (0.74, 2), (0.76, 3), (0.9, 4)]:
        left = Cuts([Recipe(top_p=top_p)]).apply(logits)
        assert mx.isfinite(left).sum().item() == count


@settings(deadline=None)
@given(st.integers(0, 999), st.sampled_from([0.001, 0.2, 1.0]))
def test_min_p_is_the_same_sorted_or_not(seed, min_p):
    rows = mx.array(tied_rows(500, seed, 60))
    cuts = Cuts([Recipe(min_p=min_p), Recipe(), Recipe(min_p=0.5)])
    assert mx.array_equal(cuts.shorten(rows), cuts.apply(rows))
