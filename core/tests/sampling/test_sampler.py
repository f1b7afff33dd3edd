"""The laws of drawing: rows are their own, seeds repeat, distributions are right, nothing forbidden comes out."""

import math
import random

import mlx.core as mx
import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Raw, Struct

from mlxp_core.contracts import SamplerStage
from mlxp_core.sampling.sampler import Sampler
from mlxp_core.types import Sampling

SIZE = 1500  # long enough for blocks and for all routes


class Flatten(Struct, frozen=True):
    power: float = 1.0


def flatten_map(rows):
    power = mx.array([row.power for row in rows])[:, None]
    return lambda logits: logits * power


STAGES = {
    name: SamplerStage(name=name, order=order, params=Flatten, build=flatten_map)
    for name, order in (("early", 150), ("middle", 250), ("late", 600))
}
POWERS = st.sampled_from([0.5, 1.0, 1.5]).map(lambda power: Raw(msgspec.json.encode(Flatten(power))))
ASKED = st.builds(
    Sampling,
    seed=st.integers(-(2**40), 2**70),
    temperature=st.sampled_from([None, 0.0, 0.3, 1.0, 1.7]),
    top_p=st.sampled_from([None, 0.0, 0.2, 0.95, 1.0]),
    top_k=st.sampled_from([None, 0, 1, 20, 64, 100, 600, 10**6]),
    min_p=st.sampled_from([None, 0.0, 0.05]),
    repetition_penalty=st.sampled_from([None, None, 1.3]),
    repetition_window=st.sampled_from([1, 7, 20]),
    presence_penalty=st.sampled_from([0.0, 0.0, 1.0]),
    logit_bias=st.sampled_from([{}, {}, {3: 4.0, 1200: 2.0}]),
    stages=st.dictionaries(st.sampled_from(sorted(STAGES)), POWERS, max_size=2),
)


def start(sampling, prompt=(), size=SIZE, **more):
    return Sampler.start(sampling, prompt, vocabulary=size, top_scores=None, stages=STAGES, **more)


def joined(samplers):
    batch = samplers[0]
    for other in samplers[1:]:
        batch.join(other)
    return batch


def tokens_of(sampler, logits, masks=None):
    return sampler.draw(logits, masks or {}).tokens.tolist()


class Life:
    """One row with logits and masks of its own, whatever batch it is in."""

    def __init__(self, sampling, seed, dtype):
        self.sampling, self.prompt = sampling, [seed % SIZE, 5, 700]
        self.rng, self.dtype = np.random.default_rng(seed), dtype
        self.logits, self.masks, self.tokens = [], [], []

    def sampler(self):
        return start(self.sampling, self.prompt)

    def step(self):
        """Return the next logits and perhaps a mask, and remember them."""
        scale = self.rng.choice([0.5, 3.0])
        self.logits.append(
            mx.array(self.rng.normal(scale=scale, size=SIZE).astype(np.float32)).astype(self.dtype)
        )
        masked = self.rng.random() < 0.3
        self.masks.append(self.rng.bytes(SIZE // 8 + 1) if masked else None)
        return self.logits[-1], self.masks[-1]

    def alone(self):
        """Return the tokens the row draws with nobody else in the batch."""
        sampler = self.sampler()
        return [
            tokens_of(sampler, logits[None], {} if mask is None else {0: mask})[0]
            for logits, mask in zip(self.logits, self.masks, strict=True)
        ]


@settings(deadline=None, max_examples=60)
@given(
    st.integers(0, 10**6), st.lists(ASKED, min_size=1, max_size=5), st.sampled_from([mx.float32, mx.bfloat16])
)
def test_a_rows_tokens_do_not_depend_on_its_neighbours(seed, asked, dtype):
    chance = random.Random(seed)
    everyone = [Life(sampling, 10 * seed + index, dtype) for index, sampling in enumerate(asked)]
    waiting, live, batch = list(everyone), [], None
    while waiting or live:
        if waiting and (not live or chance.random() < 0.5):
            live.append(waiting.pop(0))
            batch = live[-1].sampler() if batch is None else joined([batch, live[-1].sampler()])
        given_now = [life.step() for life in live]
        masks = {row: mask for row, (_, mask) in enumerate(given_now) if mask is not None}
        for life, token in zip(
            live, tokens_of(batch, mx.stack([logits for logits, _ in given_now]), masks), strict=True
        ):
            life.tokens.append(token)
        if chance.random() < 0.2:
            batch = joined(batch.split())
        if chance.random() < 0.4:
            rows = chance.sample(range(len(live)), len(live) - 1)
            live = [live[row] for row in rows]
            batch.keep(rows)
            batch = batch if live else None
    for life in everyone:
        assert life.tokens == life.alone()


@settings(deadline=None, max_examples=60)
@given(ASKED, st.integers(0, 999), st.sets(st.integers(0, SIZE - 1), min_size=1, max_size=5))
def test_a_masked_token_is_never_drawn(sampling, seed, allowed):
    mask = bytearray(SIZE // 8 + 1)
    for token in allowed:
        mask[token // 8] |= 1 << token % 8
    sampler = start(sampling)
    rng = np.random.default_rng(seed)
    for _ in range(5):
        logits = mx.array(rng.normal(scale=20, size=(1, SIZE)).astype(np.float32))
        assert tokens_of(sampler, logits, {0: bytes(mask)})[0] in allowed


@settings(deadline=None, max_examples=40)
@given(ASKED, st.integers(0, 999), st.integers(1, SIZE))
def test_nothing_from_the_limit_on_is_drawn(sampling, seed, limit):
    sampler = start(msgspec.structs.replace(sampling, logit_bias={}), limit=limit)
    logits = np.random.default_rng(seed).normal(size=(1, SIZE)).astype(np.float32)
    logits[:, limit:] += 30
    assert tokens_of(sampler, mx.array(logits))[0] < limit


@settings(deadline=None, max_examples=40)
@given(ASKED, st.integers(0, 999))
def test_same_seed_same_tokens(sampling, seed):
    logits = 2 * mx.random.normal((1, SIZE), key=mx.random.key(seed))
    first, again = start(sampling), start(sampling)
    assert [tokens_of(first, logits) for _ in range(4)] == [tokens_of(again, logits) for _ in range(4)]


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 999), st.sampled_from([mx.float32, mx.bfloat16]), st.floats(0.01, 50))
def test_top_k_of_one_is_greedy_at_any_temperature(seed, dtype, temperature):
    logits = (8 * mx.random.normal((1, SIZE), key=mx.random.key(seed))).astype(
        dtype
    )  # bfloat16 has many ties
    greedy = tokens_of(start(Sampling(temperature=0.0)), logits)
    assert tokens_of(start(Sampling(temperature=temperature, top_k=1, seed=seed)), logits) == greedy
    assert greedy == [int(np.argmax(np.array(logits.astype(mx.float32))))]


def exact_chances(logits, sampling):
    """Return the chances of all tokens, straight from the definitions, in float64."""
    order = np.argsort(-logits, kind="stable")
    shares = np.exp(logits[order].astype(np.float64) - logits.max())
    shares /= shares.sum()
    stays = np.ones(len(logits), bool)
    if sampling.top_p:
        stays &= np.cumsum(shares) - shares < sampling.top_p
    if sampling.top_k:
        stays &= np.arange(len(logits)) < sampling.top_k
    if sampling.min_p:
        stays &= shares >= sampling.min_p * shares[0]
    powers = np.where(stays, shares ** (1 / (sampling.temperature or 1)), 0)
    chances = np.zeros(len(logits))
    chances[order] = powers / powers.sum()
    return chances


@pytest.mark.parametrize(
    "sampling",
    [
        Sampling(temperature=1.0),
        Sampling(temperature=1.6),
        Sampling(temperature=0.7, min_p=0.02),
        Sampling(temperature=1.0, top_p=0.8),
        Sampling(temperature=1.3, top_k=20),
        Sampling(temperature=1.0, top_k=64, top_p=0.95),
        Sampling(temperature=1.2, top_k=300, top_p=0.9, min_p=0.001),
    ],
    ids=str,
)
def test_tokens_are_as_frequent_as_they_should_be(sampling):
    rows, steps = 250, 40
    logits = np.random.default_rng(3).normal(scale=3, size=SIZE).astype(np.float32)
    batch = joined([start(msgspec.structs.replace(sampling, seed=seed)) for seed in range(rows)])
    same = mx.broadcast_to(mx.array(logits), (rows, SIZE))
    counts = np.zeros(SIZE)
    for _ in range(steps):
        np.add.at(counts, np.array(batch.draw(same).tokens), 1)
    chances = exact_chances(logits, sampling)
    assert counts[chances == 0].sum() == 0
    expected = chances * rows * steps
    common = expected >= 8
    bins = [
        *zip(counts[common], expected[common], strict=True),
        (counts[~common].sum(), expected[~common].sum()),
    ]
    bins = [(seen, wanted) for seen, wanted in bins if wanted > 0]
    chi2 = sum((seen - wanted) ** 2 / wanted for seen, wanted in bins)
    freedom = len(bins) - 1
    assert chi2 < freedom + 4 * math.sqrt(2 * freedom)


def test_choices_with_neighbouring_seeds_differ():
    batch = joined([start(Sampling(seed=5 + choice)) for choice in range(8)])
    drawn = [tokens_of(batch, mx.zeros((8, SIZE))) for _ in range(4)]
    assert len({tuple(row) for row in zip(*drawn, strict=True)}) == 8


@settings(deadline=None, max_examples=20)
@given(st.lists(ASKED, min_size=1, max_size=4))
def test_drawing_evaluates_nothing(asked):
    """Inside a trace nothing can be evaluated: mlx would raise."""
    batch = joined([start(sampling, [1, 2]) for sampling in asked])

    def two_steps(logits):
        return batch.draw(logits).tokens, batch.draw(logits).tokens

    first, second = mx.compile(two_steps)(mx.zeros((len(asked), SIZE)))
    assert first.dtype == second.dtype == mx.int32
    assert first.shape == second.shape == (len(asked),)


def test_steps_can_be_dispatched_before_tokens_are_read():
    asked = Sampling(seed=1, repetition_penalty=1.5, frequency_penalty=0.7, top_k=50)
    logits = [mx.random.normal((1, SIZE), key=mx.random.key(step)) for step in range(6)]
    read_at_once, read_late = start(asked), start(asked)
    eager = [tokens_of(read_at_once, row)[0] for row in logits]
    lazy = [read_late.draw(row).tokens for row in logits]
    assert eager == [tokens.item() for tokens in lazy]


def test_the_callers_logits_stay_as_they_are():
    logits = mx.random.normal((2, SIZE))
    before = np.array(logits)
    batch = joined([start(Sampling(logit_bias={1: 9.0}, repetition_penalty=2.0), [3, 4]), start(Sampling())])
    tokens_of(batch, logits, {1: b"\xff"})
    assert (np.array(logits) == before).all()


@pytest.mark.parametrize("dtype", [mx.float16, mx.bfloat16, mx.float32])
def test_greedy_works_in_the_models_own_type(dtype):
    batch = joined([start(Sampling(temperature=0.0)) for _ in range(3)])
    assert tokens_of(batch, mx.eye(3, SIZE).astype(dtype)) == [0, 1, 2]
