"""Vectors: what is summed up chunk by chunk is what the whole text's hidden states say."""

import mlx.core as mx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlxp_core.engine import Pool
from mlxp_core.engine.pooling import HalfPooled

NUMBERS = st.integers(-400, 400).map(lambda hundredths: hundredths / 100)  # lengths that float32 can square
POOLINGS = ("last", "mean", "weighted_mean")


def pooled(pooling, hidden, cuts):
    """Return the vector of ``hidden`` ``[length, dim]``, given in chunks that end at ``cuts``."""
    half = HalfPooled(Pool(pooling, lambda _: None))
    for start, end in zip([0, *cuts], [*cuts, len(hidden)], strict=True):
        half.add(mx.array(hidden[start:end], dtype=mx.float32)[None])
    return np.array(half.finish(None, None).vector)


def by_hand(pooling, hidden):
    places = np.arange(1, len(hidden) + 1)[:, None]
    whole = {
        "last": hidden[-1],
        "mean": hidden.mean(axis=0),
        "weighted_mean": (places * hidden).sum(axis=0) / places.sum(),
    }[pooling]
    length = np.linalg.norm(whole)
    return whole / length if length else whole


@pytest.mark.parametrize("pooling", POOLINGS)
@settings(deadline=None, max_examples=40)
@given(data=st.data())
def test_however_it_is_cut_it_is_the_formula(pooling, data):
    length = data.draw(st.integers(1, 12))
    rows = st.lists(NUMBERS, min_size=3, max_size=3)
    hidden = np.array(data.draw(st.lists(rows, min_size=length, max_size=length)))
    cuts = sorted(data.draw(st.sets(st.integers(1, length - 1)))) if length > 1 else []
    found = pooled(pooling, hidden, cuts)
    expected = by_hand(pooling, hidden)
    if (
        np.linalg.norm(found) and np.linalg.norm(hidden.sum(axis=0)) > 1e-3
    ):  # cancelled sums have no direction
        np.testing.assert_allclose(found, expected, atol=1e-3)


@pytest.mark.parametrize("pooling", POOLINGS)
def test_a_vector_has_length_one(pooling):
    hidden = np.random.default_rng(1).normal(size=(9, 16))
    assert np.linalg.norm(pooled(pooling, hidden, [4])) == pytest.approx(1, abs=1e-6)


def test_a_sum_of_nothing_stays_nothing():
    assert not pooled("mean", np.zeros((2, 4)), []).any()
