"""Bias and penalties against their formulas, step by step, in batches that change."""

import mlx.core as mx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlxp_core.errors import BadRequest
from mlxp_core.sampling.sampler import Sampler
from mlxp_core.types import Sampling

SIZE = 12
TOKENS = st.integers(0, SIZE - 1)
ASKED = st.builds(
    Sampling,
    temperature=st.just(0.0),
    repetition_penalty=st.sampled_from([None, 0.0, 1.0, 1.5, 0.7, 4.0]),
    repetition_window=st.sampled_from([1, 2, 5, 20]),
    presence_penalty=st.sampled_from([0.0, 0.9, -0.5]),
    frequency_penalty=st.sampled_from([0.0, 0.4, -0.3]),
    logit_bias=st.dictionaries(TOKENS, st.floats(-5, 5, width=16), max_size=4),
)


def expected_logits(logits, sampling, prompt, generated):
    """The three formulas on one row, token by token."""
    out = [float(logit) + sampling.logit_bias.get(token, 0.0) for token, logit in enumerate(logits)]
    penalty = sampling.repetition_penalty or 1.0
    for token in set((prompt + generated)[-sampling.repetition_window :]):
        out[token] = out[token] * penalty if out[token] < 0 else out[token] / penalty
    for token in set(generated):
        out[token] -= sampling.presence_penalty + sampling.frequency_penalty * generated.count(token)
    return out


@settings(deadline=None, max_examples=80)
@given(st.data(), st.lists(st.tuples(ASKED, st.lists(TOKENS, max_size=30)), min_size=1, max_size=4))
def test_greedy_tokens_follow_the_formulas(data, asked):
    rng = np.random.default_rng(data.draw(st.integers(0, 999)))
    live, batch = [], None
    for sampling, prompt in asked:
        row = Sampler.start(sampling, prompt, vocabulary=SIZE, top_scores=None, stages={})
        batch = row if batch is None else (batch.join(row) or batch)
        live.append((sampling, prompt, []))
        for _ in range(data.draw(st.integers(0, 4))):
            logits = rng.normal(scale=2, size=(len(live), SIZE)).astype(np.float32)
            tokens = batch.draw(mx.array(logits)).tokens.tolist()
            for row_logits, token, (wish, before, generated) in zip(logits, tokens, live, strict=True):
                wanted = expected_logits(row_logits, wish, before, generated)
                assert wanted[token] >= max(wanted) - 1e-5
                generated.append(token)
        if data.draw(st.booleans()):
            rows = data.draw(st.permutations(range(len(live))))[: data.draw(st.integers(1, len(live)))]
            batch.keep(rows)
            live = [live[row] for row in rows]


def draw_with(sampling, prompt, logits, steps):
    row = Sampler.start(sampling, prompt, vocabulary=len(logits), top_scores=None, stages={})
    return [row.draw(mx.array([logits])).tokens.item() for _ in range(steps)]


def test_repeated_tokens_are_penalized_once():
    asked = Sampling(temperature=0.0, repetition_penalty=2.0)
    assert draw_with(asked, [1, 1, 1], [0.0, 4.0, 1.5], steps=1) == [1]
    assert draw_with(asked, [1, 1, 1], [0.0, 4.0, 2.5], steps=1) == [2]


def test_the_window_forgets():
    asked = Sampling(temperature=0.0, repetition_penalty=100.0, repetition_window=2)
    assert draw_with(asked, [], [3.0, 2.0, 1.0], steps=6) == [0, 1, 2, 0, 1, 2]


def test_presence_and_frequency_do_not_see_the_prompt():
    asked = Sampling(temperature=0.0, presence_penalty=2.0)
    assert draw_with(asked, [0, 0, 0], [3.0, 2.0], steps=3) == [0, 1, 0]
    asked = Sampling(temperature=0.0, frequency_penalty=0.6)
    assert draw_with(asked, [0, 0, 0], [3.0, 2.0], steps=5) == [0, 0, 1, 0, 1]


def test_prompt_tokens_that_cannot_be_drawn_still_take_their_place_in_the_window():
    asked = Sampling(temperature=0.0, repetition_penalty=10.0, repetition_window=2)
    assert draw_with(asked, [0, 99, 98], [3.0, 2.0], steps=1) == [0]
    assert draw_with(asked, [0, 99], [3.0, 2.0], steps=1) == [1]


def test_impossible_settings_are_refused_by_name():
    with pytest.raises(BadRequest, match=r"logit_bias: token id 12 .* \(0 to 11\)"):
        Sampler.start(Sampling(logit_bias={12: 1.0}), [], vocabulary=SIZE, top_scores=None, stages={})
    with pytest.raises(BadRequest, match=r"repetition_penalty: -1\.0 is negative"):
        Sampler.start(Sampling(repetition_penalty=-1.0), [], vocabulary=SIZE, top_scores=None, stages={})
