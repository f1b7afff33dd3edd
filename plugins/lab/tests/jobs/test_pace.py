"""How long a job will take."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlxp_lab.jobs.pace import Pace
from mlxp_lab.jobs.record import Job
from mlxp_lab.jobs.retention import Retention, forgettable


@given(st.floats(0.1, 1000), st.integers(2, 20), st.floats(0, 100))
def test_at_an_even_pace_what_is_left_is_known_whatever_the_pauses(took_s, steps, paused_s):
    pace, now_s = Pace(), 0.0
    pace.left_s(0.0, now_s)
    for step in range(1, steps + 1):
        now_s += took_s + paused_s
        pace.pause(paused_s)
        left_s = pace.left_s(step / steps, now_s)
        assert left_s == pytest.approx((steps - step) * took_s, rel=1e-3, abs=0.1)


def test_nothing_is_said_before_anything_is_done():
    pace = Pace()
    assert pace.left_s(0.0, 0.0) is None
    assert pace.left_s(0.0, 5.0) is None


def ended(count, ended_at):
    return [
        Job(
            id=f"{place}",
            kind="k",
            title="t",
            state="done",
            device="cpu",
            chat="first",
            created_at=0,
            ended_at=at,
        )
        for place, at in zip(range(count), ended_at, strict=True)
    ]


@given(ages=st.lists(st.integers(0, 20), max_size=10), days=st.integers(0, 20), most=st.integers(0, 10))
def test_what_is_kept_is_young_enough_and_not_too_many(ages, days, most):
    day_ms = 24 * 3600 * 1000
    jobs = ended(len(ages), [(100 - age) * day_ms for age in sorted(ages)])
    gone = {job.id for job in forgettable(jobs, Retention(days, most), 100 * day_ms)}
    kept = [job for job in jobs if job.id not in gone]
    assert len(kept) == min(most, sum(age <= days for age in ages))
    assert kept == jobs[: len(kept)]
