"""Drawing several tokens of a row at once draws the very tokens that it would draw one by one."""

import random

import mlx.core as mx
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from mlxp_core.sampling.sampler import Sampler
from mlxp_core.types import Sampling

SIZE, STEPS = 300, 9
ASKED = st.builds(
    Sampling,
    seed=st.integers(0, 2**60),
    temperature=st.sampled_from([0.0, 0.7, 1.5]),
    top_p=st.sampled_from([None, 0.9]),
    top_k=st.sampled_from([None, 20, 100]),
    min_p=st.sampled_from([None, 0.05]),
    repetition_penalty=st.sampled_from([None, 1.4]),
    repetition_window=st.sampled_from([1, 3, 20]),
    presence_penalty=st.sampled_from([0.0, 1.0]),
    frequency_penalty=st.sampled_from([0.0, 0.7]),
    logit_bias=st.sampled_from([{}, {3: 4.0, 7: 4.0}]),
)


def batch_of(asked):
    rows = [
        Sampler.start(sampling, [5, 9, SIZE + 3], vocabulary=SIZE, top_scores=index % 3 or None, stages={})
        for index, sampling in enumerate(asked)
    ]
    for other in rows[1:]:
        rows[0].join(other)
    return rows[0]


def read(drawn):
    mx.eval(*drawn.arrays)
    return drawn.tokens.tolist(), [drawn.read_scores(row) for row in range(drawn.tokens.shape[0])]


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10**6), st.lists(ASKED, min_size=1, max_size=4))
def test_drawing_ahead_draws_what_is_drawn_one_by_one(seed, asked):
    dice, noise = random.Random(seed), np.random.default_rng(seed)
    logits = mx.array(noise.normal(scale=2, size=(STEPS, len(asked), SIZE)).astype(np.float32))
    plain = batch_of(asked)
    expected = [read(plain.draw(logits[step])) for step in range(STEPS)]
    sampler, at = batch_of(asked), [0] * len(asked)
    while min(at) < STEPS:
        live = [row for row in range(len(at)) if at[row] < STEPS]
        if len(live) < len(at):  # the batch goes on with those that are not through
            sampler.keep(live)
            at = [at[row] for row in live]
            logits, expected = (
                logits[:, mx.array(live)],
                [
                    ([tokens[row] for row in live], [scores[row] for row in live])
                    for tokens, scores in expected
                ],
            )
        guesses, right = [], []
        for row, begin in enumerate(at):
            right.append(dice.randint(0, STEPS - 1 - begin))
            truth = [expected[begin + step][0][row] for step in range(right[-1])]
            wrong = [(expected[begin + right[-1]][0][row] + 1) % SIZE, SIZE + 1][: dice.randint(0, 2)]
            guesses.append(truth + [token for token in wrong if begin + len(truth) + 1 < STEPS])
        places = [(at[row] + step, row) for row, own in enumerate(guesses) for step in range(len(own) + 1)]
        flat = mx.stack([logits[min(step, STEPS - 1), row] for step, row in places])
        tokens, scores = read(sampler.ahead(guesses).draw(flat))
        taken, first = [], 0
        for row, own in enumerate(guesses):
            count = right[row] + 1
            for step in range(count):
                assert tokens[first + step] == expected[at[row] + step][0][row]
                assert scores[first + step] == expected[at[row] + step][1][row]
            taken.append(tokens[first : first + count])
            first += len(own) + 1
            at[row] += count
        sampler.take(taken)
