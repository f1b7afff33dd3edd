"""Counting loses nothing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlxp_core.types import Timing, Usage
from mlxp_metrics.tally import SECONDS, Histogram, Tally, Who

CHAT = Who("chat", "m")


@given(st.lists(st.floats(0, 1000), max_size=50))
def test_each_number_is_in_the_one_bucket_that_it_fits(values):
    histogram = Histogram(SECONDS)
    for value in values:
        histogram.add(value)
    for place, end in enumerate(SECONDS):
        assert sum(histogram.counts[: place + 1]) == sum(value <= end for value in values)
    assert sum(histogram.counts) == len(values)
    assert histogram.total == pytest.approx(sum(values))


def test_every_choice_is_counted_by_surface_model_and_reason(record):
    tally = Tally()
    for one in (
        record(),
        record(),
        record(reason="failed", error="gone"),
        record(reason="cancelled"),
        record(protocol="messages"),
    ):
        tally.add(one)
    assert tally.ended == {
        (CHAT, "stop"): 2,
        (CHAT, "failed"): 1,
        (CHAT, "cancelled"): 1,
        (Who("messages", "m"), "stop"): 1,
    }
    assert tally.tokens[CHAT, "prompt"] == 40
    assert tally.tokens[CHAT, "cached"] == 16
    assert tally.tokens[CHAT, "completion"] == 20
    assert tally.tokens[CHAT, "thinking"] == 8


def test_times_are_of_choices_that_ended_well(record):
    tally = Tally()
    for one in (record(), record(reason="failed", error="gone"), record(reason="cancelled")):
        tally.add(one)
    times = tally.times[CHAT]
    assert [sum(each.counts) for each in (times.queue, times.prefill, times.decode, times.speed)] == [1] * 4
    assert times.first_token.total == pytest.approx(0.5)
    assert times.speed.total == pytest.approx(2.0)


def test_what_says_nothing_has_no_first_token(record):
    tally = Tally()
    tally.add(record(usage=Usage(prompt=3), timing=Timing(prefill_s=0.1)))
    times = tally.times[CHAT]
    assert (sum(times.prefill.counts), sum(times.first_token.counts), sum(times.decode.counts)) == (1, 0, 0)


def test_one_token_has_no_speed(record):
    tally = Tally()
    tally.add(record(usage=Usage(completion=1)))
    assert sum(tally.times[CHAT].speed.counts) == 0


def test_a_copy_stays_as_it_is(record):
    tally = Tally()
    tally.add(record())
    copy = tally.copy()
    tally.add(record())
    assert (copy.ended[CHAT, "stop"], sum(copy.times[CHAT].queue.counts)) == (1, 1)
