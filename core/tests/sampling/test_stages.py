"""Plugin stages in the chain, and the kit's suite on two of them."""

import mlx.core as mx
import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Raw, Struct

from mlxp_core.contracts import SamplerStage
from mlxp_core.sampling.sampler import Sampler
from mlxp_core.testing.sampling import SamplerSuite
from mlxp_core.types import Sampling

SIZE = 40


class Ban(Struct, frozen=True):
    below: int = 0


def ban_map(rows):
    """Forbid the tokens below a number."""
    below = mx.array([row.below for row in rows])[:, None]
    return lambda logits: mx.where(mx.arange(logits.shape[-1]) < below, -mx.inf, logits)


class Gain(Struct, frozen=True):
    gain: float = 1.0


def gain_map(rows):
    """Stretch the log-probabilities."""
    gain = mx.array([row.gain for row in rows])[:, None]
    return lambda logits: logits * gain


BAN = SamplerStage(name="ban", order=150, params=Ban, build=ban_map)
GAIN = SamplerStage(
    name="gain", order=350, params=Gain, build=gain_map, replaces=frozenset({"temperature", "top_p"})
)


class TestGain(SamplerSuite):
    @pytest.fixture
    def stage(self):
        return GAIN

    @pytest.fixture
    def settings(self):
        return [Gain(1.0), Gain(0.5), Gain(3.0)]

    @pytest.fixture
    def neutral(self):
        return Gain(1.0)


class TestBan(SamplerSuite):
    @pytest.fixture
    def stage(self):
        return SamplerStage(name="ban", order=150, params=Ban, build=self.spare_the_likeliest)

    @staticmethod
    def spare_the_likeliest(rows):
        """Forbid, but never the best token: a stage must leave one."""
        banned = ban_map(rows)
        return lambda logits: mx.where(
            logits == mx.max(logits, axis=-1, keepdims=True), logits, banned(logits)
        )

    @pytest.fixture
    def settings(self):
        return [Ban(0), Ban(5), Ban(299)]

    @pytest.fixture
    def neutral(self):
        return Ban(0)


def start(sampling, *stages, **wanted):
    raw = {name: Raw(msgspec.json.encode(params)) for name, params in wanted.items()}
    asked = msgspec.structs.replace(sampling, stages=raw)
    return Sampler.start(
        asked, [], vocabulary=SIZE, top_scores=None, stages={stage.name: stage for stage in stages}
    )


def tokens_of(sampler, logits):
    return sampler.draw(logits).tokens.tolist()


def random_logits(rows=1, seed=0):
    return 3 * mx.random.normal((rows, SIZE), key=mx.random.key(seed))


def test_a_stage_touches_only_the_rows_that_ask_for_it():
    logits = mx.broadcast_to(mx.arange(SIZE, 0, -1).astype(mx.float32), (3, SIZE))
    batch = start(Sampling(temperature=0.0), BAN, ban=Ban(4))
    batch.join(start(Sampling(temperature=0.0), BAN))
    batch.join(start(Sampling(temperature=0.0), BAN, ban=Ban(9)))
    assert tokens_of(batch, logits) == [4, 0, 9]


def test_a_stage_is_built_once_for_all_its_rows_until_the_batch_changes():
    seen = []

    def build(rows):
        seen.append(list(rows))
        return ban_map(rows)

    noted = SamplerStage(name="ban", order=150, params=Ban, build=build)
    batch = start(Sampling(), noted, ban=Ban(1))
    batch.join(start(Sampling(), noted, ban=Ban(2)))
    for seed in range(3):
        batch.draw(random_logits(2, seed))
    batch.keep([1])
    batch.draw(random_logits(1))
    assert seen == [[Ban(1), Ban(2)], [Ban(2)]]


@settings(deadline=None)
@given(st.integers(0, 999), st.sampled_from([0.25, 0.5, 2.0]))
def test_a_gain_that_replaces_temperature_is_an_inverse_temperature(seed, gain):
    staged = start(Sampling(seed=seed, temperature=0.0, top_p=0.1), GAIN, gain=Gain(gain))
    plain = start(Sampling(seed=seed, temperature=1 / gain))
    logits = random_logits(seed=seed)
    ours, theirs = (tokens_of(sampler, logits)[0] for sampler in (staged, plain))
    # The same number inverts the same distribution; only rounding may tell them apart.
    assert abs(ours - theirs) <= 1


def test_stages_see_log_probabilities_of_what_the_constraint_allows():
    seen = []

    def build(rows):
        return lambda logits: seen.append(logits) or logits

    spy = SamplerStage(name="spy", order=150, params=Ban, build=build)
    start(Sampling(), spy, spy=Ban()).draw(5 + random_logits(), {0: b"\x0f"})
    (row,) = np.array(seen[0])
    assert np.flatnonzero(row > -np.inf).tolist() == [0, 1, 2, 3]
    assert np.isclose(np.exp(row).sum(), 1, atol=1e-5)


@pytest.mark.parametrize(("order", "expected"), [(150, {4, 5, 6}), (350, {4})])
def test_order_places_a_stage_before_or_after_the_standard_ones(order, expected):
    """Of 0, 1, 2, ... in falling order, top_k 3 leaves three of what the ban left, or the ban one of three."""
    stage = SamplerStage(name="ban", order=order, params=Ban, build=ban_map)
    logits = mx.arange(SIZE, 0, -1).astype(mx.float32)[None] * 0.01
    top_k = 3 if order == 150 else 5
    drawn = {
        tokens_of(start(Sampling(seed=seed, top_k=top_k), stage, ban=Ban(4)), logits)[0] for seed in range(60)
    }
    assert drawn == expected


def test_a_stage_after_the_temperature_sees_its_work():
    seen = []

    def build(rows):
        return lambda logits: seen.append(logits) or logits

    spy = SamplerStage(name="spy", order=600, params=Ban, build=build)
    logits = random_logits()
    start(Sampling(temperature=0.5, top_k=10, top_p=0.9, min_p=0.01), spy, spy=Ban()).draw(logits)
    row = np.array(seen[0])[0]
    kept = np.flatnonzero(row > -np.inf)
    assert 1 < len(kept) <= 10
    gaps = row[kept] - row[kept[0]]
    assert np.allclose(gaps, 2 * (np.array(logits)[0, kept] - np.array(logits)[0, kept[0]]), atol=1e-4)
