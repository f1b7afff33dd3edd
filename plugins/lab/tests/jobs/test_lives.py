"""Jobs from their beginning to whatever end, in real processes."""

import pytest

from mlxp_core.errors import Conflict, NotFound
from mlxp_lab.jobs import BadParameters
from mlxp_lab.jobs.events import LogEvent, MetricsEvent, ProgressEvent, ResultEvent, StateEvent
from mlxp_lab.jobs.journal import Journal


def said(lab, job):
    return Journal(lab.desk.store.place_of(job.id)).events()


def states(lab, job):
    return [event.state for event in said(lab, job) if isinstance(event, StateEvent)]


def test_a_job_runs_to_its_end_and_says_how_it_goes(lab, tended, gates, tmp_path):
    gate = gates()
    gate.open_all()
    job = lab.desk.submit("trial", {"gates": str(gate), "place": str(tmp_path / "made")})
    tended(lambda: lab.desk.get(job.id).ended)
    done = lab.desk.get(job.id)
    assert (done.state, done.progress, done.error) == ("done", 1.0, None)
    assert done.output == str(tmp_path / "made")
    assert (tmp_path / "made" / "config.json").read_text() == "{}"
    assert done.result == {"steps": 4}
    assert states(lab, job) == ["queued", "running", "done"]
    kinds = {type(event) for event in said(lab, job)}
    assert kinds == {StateEvent, ProgressEvent, MetricsEvent, LogEvent, ResultEvent}
    losses = [event.values["loss"] for event in said(lab, job) if isinstance(event, MetricsEvent)]
    assert losses == [1.0, 1 / 2, 1 / 3, 1 / 4]


@pytest.mark.parametrize(
    ("ending", "words"),
    [
        ("abort", ["SIGABRT", "out of memory"]),
        ("exit", ["status 7"]),
        ("refuse", ["it cannot be done; do something else"]),
        ("stumble", ["ZeroDivisionError: by zero"]),
    ],
)
def test_a_job_that_fails_fails_alone_and_says_why(lab, tended, gates, ending, words):
    gate = gates()
    gate.open_all()
    job = lab.desk.submit("trial", {"gates": str(gate), "ending": ending})
    tended(lambda: lab.desk.get(job.id).ended)
    failed = lab.desk.get(job.id)
    assert failed.state == "failed"
    assert all(word in failed.error for word in words)
    assert said(lab, job)[-1].error == failed.error


@pytest.mark.parametrize(
    ("parameters", "param"),
    [
        ({}, None),
        ({"gates": 3}, "gates"),
        ({"gates": "/", "gate": "/"}, None),
        ({"gates": "no such"}, "gates"),
    ],
)
def test_wrong_parameters_are_refused_and_nothing_is_kept(lab, parameters, param):
    with pytest.raises(BadParameters) as refused:
        lab.desk.submit("trial", parameters)
    assert refused.value.param == param
    assert lab.desk.store.newest() == []


def test_an_unknown_kind_is_refused_with_those_there_are(lab):
    with pytest.raises(NotFound, match="trial"):
        lab.desk.submit("no such kind", {})


def test_one_job_at_a_time_has_the_device(lab, tended, gates):
    first, second, light = gates(), gates(), gates()
    one = lab.desk.submit("trial", {"gates": str(first)})
    two = lab.desk.submit("trial", {"gates": str(second)})
    three = lab.desk.submit("light", {"gates": str(light)})
    tended(lambda: first.reached(0) and light.reached(0))
    assert lab.desk.get(two.id).state == "queued"
    assert lab.desk.get(three.id).state == "running"
    for each in (first, second, light):
        each.open_all()
    tended(lambda: all(lab.desk.get(job.id).state == "done" for job in (one, two, three)))
    assert lab.desk.get(two.id).started_at >= lab.desk.get(one.id).ended_at


def test_a_job_that_waits_is_cancelled_at_once(lab, gates):
    job = lab.desk.submit("trial", {"gates": str(gates())})
    assert lab.desk.cancel(job.id).state == "cancelled"
    assert states(lab, job) == ["queued", "cancelled"]
    with pytest.raises(Conflict):
        lab.desk.cancel(job.id)


def test_a_running_job_is_cancelled_and_leaves_nothing(lab, tended, gates, tmp_path):
    gate = gates()
    gate.open(0, 1, 2, 3)
    job = lab.desk.submit("trial", {"gates": str(gate), "place": str(tmp_path / "out" / "made")})
    tended(lambda: gate.reached("making"))
    lab.desk.cancel(job.id)
    tended(lambda: lab.desk.get(job.id).ended)
    assert lab.desk.get(job.id).state == "cancelled"
    assert list((tmp_path / "out").iterdir()) == []


def test_what_failed_goes_on_where_it_was(lab, tended, gates):
    gate = gates()
    gate.open(0, 1)
    job = lab.desk.submit("trial", {"gates": str(gate)})
    tended(lambda: gate.reached(2))
    lab.desk.cancel(job.id)
    tended(lambda: lab.desk.get(job.id).ended)
    gate.open_all()
    lab.desk.resume(job.id)
    tended(lambda: lab.desk.get(job.id).ended)
    assert lab.desk.get(job.id).state == "done"
    assert lab.desk.get(job.id).attempt == 2
    assert [event.line for event in said(lab, job) if isinstance(event, LogEvent)] == [
        "from step 0",
        "from step 2",
    ]
    steps = [event.step for event in said(lab, job) if isinstance(event, MetricsEvent)]
    assert steps == [0, 1, 2, 3]


def test_what_cannot_go_on_can_be_tried_again(lab, tended, gates):
    gate = gates()
    gate.open_all()
    job = lab.desk.submit("once", {"gates": str(gate), "ending": "refuse"})
    tended(lambda: lab.desk.get(job.id).ended)
    with pytest.raises(Conflict, match="retry"):
        lab.desk.resume(job.id)
    again = lab.desk.retry(job.id)
    assert (again.retry_of, again.parameters) == (job.id, job.parameters)
    tended(lambda: lab.desk.get(again.id).ended)
    assert lab.desk.get(again.id).state == "failed"


def test_what_is_forgotten_is_gone_with_its_folder_but_not_with_what_it_made(lab, tended, gates, tmp_path):
    gate = gates()
    gate.open_all()
    job = lab.desk.submit("trial", {"gates": str(gate), "place": str(tmp_path / "made")})
    with pytest.raises(Conflict, match="cancel"):
        lab.desk.remove(job.id)
    tended(lambda: lab.desk.get(job.id).ended)
    lab.desk.remove(job.id)
    assert lab.desk.store.get(job.id) is None
    assert not lab.desk.store.place_of(job.id).exists()
    assert (tmp_path / "made" / "config.json").exists()
