"""Surveys: what is told of a distribution is the softmax's, whatever the logits."""

import math

import mlx.core as mx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlxp_core.engine import Survey
from mlxp_core.engine.pooling import surveyed
from mlxp_core.sampling.scores import LEAST

LOGITS = st.lists(st.floats(-50, 50, width=32), min_size=1, max_size=300)
SURVEYS = st.builds(
    Survey, bins=st.integers(1, 100), lowest=st.floats(-40, -0.5), likeliest=st.integers(0, 20)
)


def parts(logits, survey):
    numbers = surveyed(mx.array([logits], dtype=mx.float32), survey).tolist()
    counts, rest = numbers[: survey.bins], numbers[survey.bins :]
    return counts, [int(token) for token in rest[: len(rest) // 2]], rest[len(rest) // 2 :]


def scores_of(logits):
    exact = np.array(logits, dtype=np.float64)
    return exact - exact.max() - np.log(np.exp(exact - exact.max()).sum())


@settings(deadline=None)
@given(LOGITS, SURVEYS)
def test_every_token_is_in_one_bin(logits, survey):
    assert sum(parts(logits, survey)[0]) == len(logits)


@settings(deadline=None)
@given(LOGITS, SURVEYS)
def test_a_bin_holds_what_lies_between_its_ends(logits, survey):
    """Up to float32's rounding at the ends: a token may be counted one bin further."""
    counts = np.array(parts(logits, survey)[0])
    edges = np.linspace(survey.lowest, 0, survey.bins + 1)[1:-1]
    scores = scores_of(logits)
    for edge, below in zip(edges, np.cumsum(counts), strict=False):
        assert (scores < edge - 1e-3).sum() <= below <= (scores < edge + 1e-3).sum()


@settings(deadline=None)
@given(LOGITS, SURVEYS)
def test_the_likeliest_are_named_with_their_scores(logits, survey):
    _, ids, told = parts(logits, survey)
    scores = scores_of(logits)
    assert len(ids) == min(survey.likeliest, len(logits))
    assert told == pytest.approx([scores[token] for token in ids], abs=1e-3)
    assert told == pytest.approx(sorted(scores, reverse=True)[: len(ids)], abs=1e-3)


def test_the_bins_of_a_designer():
    """One token of probability 1, one at the floor: the last bin and the first."""
    survey = Survey(80, math.log(1e-6), 2)
    counts, ids, told = parts([30.0, 0.0], survey)
    assert (counts[79], counts[0]) == (1, 1)
    assert ids == [0, 1]
    assert told == pytest.approx([0, -30], abs=1e-4)


def test_what_is_no_number_is_counted_at_the_bottom():
    assert parts([math.nan, 1.0], Survey(4, -10.0, 0))[0] == [2, 0, 0, 0]


def test_what_is_impossible_can_be_told_in_json():
    assert parts([0.0, -math.inf], Survey(4, -10.0, 2)) == ([1, 0, 0, 1], [0, 1], [0, LEAST])
