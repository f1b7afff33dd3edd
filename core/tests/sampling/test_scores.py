"""Reported log-probabilities."""

import mlx.core as mx
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from mlxp_core.sampling.sampler import Sampler
from mlxp_core.sampling.scores import LEAST
from mlxp_core.types import Sampling

SIZE = 50


def batch_of(asked, **settings):
    rows = [
        Sampler.start(
            Sampling(seed=index, **settings),
            [1],
            vocabulary=SIZE,
            top_scores=count,
            stages={},
            limit=SIZE - 3,
        )
        for index, count in enumerate(asked)
    ]
    for other in rows[1:]:
        rows[0].join(other)
    return rows[0]


@settings(deadline=None)
@given(st.lists(st.none() | st.integers(0, 20), min_size=1, max_size=4), st.integers(0, 999), st.booleans())
def test_rows_get_what_they_asked_for_from_the_models_own_distribution(asked, seed, biased):
    logits = np.random.default_rng(seed).normal(scale=3, size=(len(asked), SIZE)).astype(np.float32)
    more = {"logit_bias": {5: 50.0}, "presence_penalty": 1.0, "temperature": 0.3} if biased else {}
    sampler = batch_of(asked, **more)
    drawn = sampler.draw(mx.array(logits))
    mx.eval(drawn.arrays)
    exact = logits[:, : SIZE - 3].astype(np.float64)
    exact -= np.log(np.exp(exact).sum(axis=-1, keepdims=True))
    for row, count in enumerate(asked):
        score = drawn.read_scores(row)
        if count is None:
            assert score is None
            continue
        assert np.isclose(score.logprob, exact[row, drawn.tokens[row].item()], atol=1e-4)
        best = np.argsort(-exact[row], kind="stable")[:count]
        assert [token for token, _ in score.top] == best.tolist()
        assert np.allclose([logprob for _, logprob in score.top], exact[row, best], atol=1e-4)


def test_nobody_asking_costs_nothing():
    drawn = batch_of([None, None]).draw(mx.zeros((2, SIZE)))
    assert drawn.scores is None
    assert drawn.arrays == (drawn.tokens,)


def test_asking_does_not_change_what_is_drawn():
    logits = mx.random.normal((2, SIZE))
    assert (
        batch_of([None, None]).draw(logits).tokens.tolist()
        == batch_of([5, None]).draw(logits).tokens.tolist()
    )


def test_impossible_tokens_have_a_score_json_can_say():
    logits = mx.array([[0.0] + [-np.inf] * (SIZE - 1)])
    score = batch_of([2]).draw(logits).read_scores(0)
    assert score.top == ((0, 0.0), (1, LEAST))


def test_numbers_are_plain():
    score = batch_of([1]).draw(mx.zeros((1, SIZE))).read_scores(0)
    assert [type(part) for part in (score.logprob, *score.top[0])] == [float, int, float]
