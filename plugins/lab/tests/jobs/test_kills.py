"""Kill -9 at any moment: what is told afterwards is true, and nothing half-made is taken for made."""

import os
import signal
import subprocess
import sys

import pytest

from mlxp_lab.jobs.journal import Journal


def kill(lab, job):
    os.kill(lab.desk.get(job.id).whose.pid, signal.SIGKILL)


def holds(folder):
    return {path.name for path in folder.iterdir()} if folder.exists() else set()


MOMENTS = {
    "0": ((), "failed", set()),
    "2": ((0, 1), "failed", set()),
    "making": ((0, 1, 2, 3), "failed", {".made.{id}.part"}),
    "made": ((0, 1, 2, 3, "making"), "done", {"made"}),
}
"""Gate -> gates open before it, how the job is told to have ended when it is killed there, and what is there."""


@pytest.mark.parametrize("gate", MOMENTS)
def test_a_job_killed_at_any_gate_is_told_as_it_is(lab, tended, gates, tmp_path, gate):
    before, state, there = MOMENTS[gate]
    opened = gates()
    opened.open(*before)
    place = tmp_path / "out" / "made"
    job = lab.desk.submit("trial", {"gates": str(opened), "place": str(place)})
    tended(lambda: opened.reached(gate))
    kill(lab, job)
    tended(lambda: lab.desk.get(job.id).ended)
    told = lab.desk.get(job.id)
    assert told.state == state
    assert state == "done" or "SIGKILL" in told.error
    assert holds(place.parent) == {name.format(id=job.id) for name in there}
    assert Journal(lab.desk.store.place_of(job.id)).events()[-1].state == state


def test_what_a_killed_job_left_half_made_is_swept_when_it_goes_on(lab, tended, gates, tmp_path):
    gate = gates()
    gate.open(0, 1, 2, 3)
    place = tmp_path / "out" / "made"
    job = lab.desk.submit("trial", {"gates": str(gate), "place": str(place)})
    tended(lambda: gate.reached("making"))
    kill(lab, job)
    tended(lambda: lab.desk.get(job.id).ended)
    gate.open_all()
    lab.desk.resume(job.id)
    tended(lambda: lab.desk.get(job.id).ended)
    assert lab.desk.get(job.id).state == "done"
    assert holds(place.parent) == {"made"}


def test_what_is_replaced_stays_whole_until_the_new_one_is(lab, tended, gates, tmp_path):
    place = tmp_path / "made"
    place.mkdir()
    (place / "old").touch()
    refused = gates()
    refused.open_all()
    kept = lab.desk.submit("trial", {"gates": str(refused), "place": str(place)})
    tended(lambda: lab.desk.get(kept.id).ended)
    assert "is there already" in lab.desk.get(kept.id).error
    gate = gates()
    gate.open(0, 1, 2, 3)
    job = lab.desk.submit("trial", {"gates": str(gate), "place": str(place), "replace": True})
    tended(lambda: gate.reached("making"))
    assert holds(place) == {"old"}
    gate.open_all()
    tended(lambda: lab.desk.get(job.id).ended)
    assert holds(place) == {"half", "config.json", "mlxp_job.json"}


def test_a_job_that_does_not_listen_is_killed(lab, labs, tended, gates, monkeypatch):
    monkeypatch.setenv("MLXP_LAB_GRACE_S", "0.3")
    impatient = labs()
    gate = gates()
    job = impatient.desk.submit("deaf", {"gates": str(gate)})
    impatient.supervisor.tend()
    tended(lambda: gate.reached(0))
    lab.desk.cancel(job.id)
    tended(lambda: lab.desk.get(job.id).ended)
    assert lab.desk.get(job.id).state == "cancelled"


def test_a_job_outlives_who_started_it(lab, tended, gates, home):
    gate = gates()
    job = lab.desk.submit("trial", {"gates": str(gate)})
    starter = subprocess.Popen(
        [sys.executable, "-m", "mlxp_core", "jobs", "watch", job.id], stderr=subprocess.DEVNULL
    )
    tended(lambda: gate.reached(0), only="")
    starter.kill()
    starter.wait()
    gate.open_all()
    tended(lambda: lab.desk.get(job.id).ended, only="")
    assert (lab.desk.get(job.id).state, lab.desk.get(job.id).attempt) == ("done", 1)


def test_a_second_one_never_takes_the_first_ones_jobs_for_dead(lab, labs, tended, gates, mlxp):
    gate = gates()
    job = lab.desk.submit("trial", {"gates": str(gate)})
    tended(lambda: gate.reached(0))
    second = labs()
    for _ in range(3):
        second.supervisor.tend()
    assert lab.desk.get(job.id).state == "running"
    assert '"state": "running"' in mlxp("jobs", "show", job.id).stdout


def test_after_everything_was_killed_the_next_look_tells_the_truth(lab, tended, gates, mlxp):
    gate = gates()
    job = lab.desk.submit("trial", {"gates": str(gate)})
    starter = subprocess.Popen(
        [sys.executable, "-m", "mlxp_core", "jobs", "watch", job.id], stderr=subprocess.DEVNULL
    )
    tended(lambda: gate.reached(0), only="")
    starter.kill()
    starter.wait()
    kill(lab, job)
    told = mlxp("jobs", "show", job.id).stdout
    assert '"state": "failed"' in told
    assert "without a word" in told


def test_a_start_that_nobody_came_to_is_tried_again(lab, tended, gates):
    gate = gates()
    gate.open_all()
    job = lab.desk.submit("trial", {"gates": str(gate)})
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    lab.desk.store.claim(job.id, lab.supervisor._me.__class__("elsewhere", dead.pid, 1.0), cpu_jobs=1)
    lab.desk.store._database.change("UPDATE jobs SET host = ?, seen_at = 0", (lab.supervisor._me.host,))
    tended(lambda: lab.desk.get(job.id).ended)
    assert (lab.desk.get(job.id).state, lab.desk.get(job.id).attempt) == ("done", 2)
