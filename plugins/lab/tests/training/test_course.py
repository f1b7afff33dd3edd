"""The order in which rows are seen, and the rates of the steps."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlxp_lab.training.course import Course, alone, packed
from mlxp_lab.training.parameters import TrainParameters
from mlxp_lab.training.rates import rate_at

lengths = st.lists(st.integers(1, 50), min_size=1, max_size=120)


def seen(passes):
    return sorted(item for batch in passes for unit in batch for item in unit)


@given(lengths, st.integers(1, 7), st.integers(0, 99), st.booleans(), st.booleans())
def test_every_epoch_sees_every_item_once(told, rows, seed, buckets, packs):
    units = packed(told, 64) if packs else alone(len(told))
    course = Course(units, told, rows=rows, seed=seed, buckets=buckets)
    for passes in (course.epoch(0), course.epoch(1), course.in_order()):
        assert seen(passes) == list(range(len(told)))
        assert len(passes) == course.passes
        assert all(len(batch) <= rows for batch in passes)
    line = [course.at(place) for place in range(2 * course.passes)]
    assert line == course.epoch(0) + course.epoch(1)
    assert Course(units, told, rows=rows, seed=seed, buckets=buckets).epoch(1) == course.epoch(1)


@given(lengths)
def test_packed_rows_hold_what_fits(told):
    units = packed(told, 64)
    assert all(sum(told[item] for item in unit) <= 64 for unit in units)
    filled = sorted(sum(told[item] for item in unit) for unit in units)
    assert all(one + other > 64 for one, other in itertools.pairwise(filled))  # no two could be one


def test_buckets_pad_less():
    told = [1 + number * 37 % 100 for number in range(200)]
    wasted = {}
    for buckets in (True, False):
        passes = Course(alone(200), told, rows=4, seed=0, buckets=buckets).epoch(0)
        wasted[buckets] = sum(
            max(told[item] for (item,) in batch) - told[item] for batch in passes for (item,) in batch
        )
    assert wasted[True] < wasted[False] / 3


@given(
    st.sampled_from(["constant", "linear", "cosine"]), st.integers(0, 20), st.integers(2, 60), st.floats(0, 1)
)
def test_rates_rise_to_their_highest_and_fall_to_their_last(schedule, warmup, total, final):
    asked = TrainParameters(
        model="", data="", schedule=schedule, warmup_steps=warmup, final_rate=final, learning_rate=0.5
    )
    rates = [rate_at(asked, step, total) for step in range(total)]
    rise = min(warmup, total)
    assert all(0 <= rate <= 0.5 + 1e-12 for rate in rates)
    assert rates[:rise] == sorted(rates[:rise])
    assert rates[rise:] == sorted(rates[rise:], reverse=True) or schedule == "constant"
    if rise < total:
        assert rates[rise] == pytest.approx(0.5)
    if rise < total - 1 and schedule != "constant":
        assert rates[-1] == pytest.approx(0.5 * final)
