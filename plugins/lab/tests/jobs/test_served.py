"""Over HTTP, with the kit's engine behind it and real processes beside it."""

import asyncio
import importlib
import json
from concurrent.futures import Future
from contextlib import contextmanager

import pytest

from mlxp_core.testing.client import PATIENCE_S, serve
from mlxp_core.testing.engine import HOLD
from mlxp_core.types import GenerateRequest
from mlxp_lab.plugin import LabPlugin


@pytest.fixture
def served(home, until):
    """Serve with the lab and a stranger's kinds; no job is left behind."""

    @contextmanager
    def begin(script=(), **lab):
        trials = importlib.import_module("lab_trials")
        plugins = [("lab", LabPlugin()), ("trials", trials)]
        flags = {"lab": {"folder": str(home), **lab}}
        with serve([], script, plugins=plugins, flags=flags) as running:
            yield running
            for job in running.client.get("/api/jobs").json()["jobs"]:
                if job["state"] not in {"done", "failed", "cancelled"}:
                    running.client.post(f"/api/jobs/{job['id']}/cancel")
                    until(
                        lambda job=job: shown(running, job["id"])["state"] in {"done", "failed", "cancelled"}
                    )

    return begin


def submit(served, gates, kind="trial", **more):
    answer = served.client.post("/api/jobs", json={"kind": kind, "parameters": {"gates": str(gates)}, **more})
    assert answer.status_code == 202, answer.text
    return answer.json()["id"]


def shown(served, job_id):
    return served.client.get(f"/api/jobs/{job_id}").json()


def streamed(served, job_id, **headers):
    """Follow a job to its end, and return (id, event) for each of its events."""
    events = []
    with served.client.stream("GET", f"/api/jobs/{job_id}/stream", headers=headers) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        blocks = answer.read().decode().split("\n\n")
    assert blocks[0] == "retry: 1500"
    assert blocks[-2:] == ["event: end\ndata: {}", ""]
    for block in blocks[1:-2]:
        place, data = block.split("\n")
        events.append((place.removeprefix("id: "), json.loads(data.removeprefix("data: "))))
    return events


def ask(served, name):
    """Have the server answer something; returns what will be told of it."""

    async def story():
        request = GenerateRequest(id=name, model="", prompt="hello", max_tokens=2)
        ticket = await served.desk.generate(request, protocol="test")
        return [event async for event in ticket.events()]

    done = Future()
    served.call(lambda: asyncio.ensure_future(story()).add_done_callback(done.set_result))
    return done


def test_a_job_is_submitted_followed_and_shown(served, gates):
    gate = gates()
    with served() as server:
        assert server.client.get("/api/jobs").json() == {"jobs": []}
        job_id = submit(server, gate)
        gate.open_all()
        events = streamed(server, job_id)
        assert events[0][1]["state"] == "queued"
        assert (events[-1][1]["type"], events[-1][1]["state"]) == ("state", "done")
        assert shown(server, job_id)["state"] == "done"
        assert [job["id"] for job in server.client.get("/api/jobs").json()["jobs"]] == [job_id]


def test_who_comes_back_is_told_what_they_missed_and_no_more(served, gates):
    gate = gates()
    gate.open_all()
    with served() as server:
        job_id = submit(server, gate)
        events = streamed(server, job_id)
        for place in (0, len(events) // 2, len(events) - 1):
            again = streamed(server, job_id, **{"last-event-id": events[place][0]})
            assert [event for event in again if event in events] == events[place + 1 :]


def test_looking_makes_no_lab(served, home):
    with served() as server:
        for path in ("/api/jobs", "/api/jobs/kinds", "/api/lab/models", "/api/datasets"):
            assert server.client.get(path).is_success, path
    assert not home.exists()


def test_the_kinds_say_what_they_take(served):
    with served() as server:
        kinds = {kind["name"]: kind for kind in server.client.get("/api/jobs/kinds").json()["kinds"]}
    assert kinds["trial"]["resumable"]
    assert kinds["light"]["device"] == "cpu"
    assert "gates" in json.dumps(kinds["trial"]["parameters"])


@pytest.mark.parametrize(
    ("body", "status", "param"),
    [
        ({"kind": "trial", "parameters": {"gates": 3}}, 400, "gates"),
        ({"kind": "trial", "parameters": {"gates": "no such"}}, 400, "gates"),
        ({"kind": "no such"}, 404, "kind"),
        ({"kind": "trial", "parameters": {}, "more": 1}, 400, None),
        ({}, 400, None),
        ([], 400, None),
    ],
)
def test_what_is_wrong_is_told(served, body, status, param):
    with served() as server:
        answer = server.client.post("/api/jobs", json=body)
        assert answer.status_code == status
        assert answer.json()["error"].get("param") == param
        assert server.client.get("/api/jobs").json() == {"jobs": []}


@pytest.mark.parametrize(
    ("path", "field"),
    [
        ("/api/jobs", "parameters"),
        ("/api/quantize/inspect", "model"),
        ("/api/train/inspect", "model"),
        ("/api/datasets", "columns"),
        ("/api/datasets/no/rows", "edits"),
    ],
)
def test_what_is_nested_too_deeply_is_told(served, path, field):
    deep = b'{"kind": "trial", "' + field.encode() + b'": ' + b'{"a": ' * 20_000
    with served() as server:
        answer = server.client.post(path, content=deep)
        assert answer.status_code == 400
        assert answer.json()["error"]["message"]


@pytest.mark.parametrize("limit", ["0", "501", "-1", "x", "²"])
def test_a_wrong_limit_is_refused(served, limit):
    with served() as server:
        assert server.client.get("/api/jobs", params={"limit": limit}).json()["error"]["param"] == "limit"


def test_jobs_that_are_not_there_are_404(served):
    with served() as server:
        client = server.client
        for answer in (
            client.get("/api/jobs/job_x"),
            client.get("/api/jobs/job_x/stream"),
            client.post("/api/jobs/job_x/cancel"),
            client.post("/api/jobs/job_x/resume"),
            client.post("/api/jobs/job_x/retry"),
            client.delete("/api/jobs/job_x"),
        ):
            assert answer.status_code == 404, answer.text


def test_cancel_resume_retry_and_forget(served, gates, until):
    gate = gates()
    with served() as server:
        job_id = submit(server, gate)
        until(lambda: gate.reached(0))
        assert server.client.delete(f"/api/jobs/{job_id}").status_code == 409
        assert server.client.post(f"/api/jobs/{job_id}/retry").status_code == 409
        assert server.client.post(f"/api/jobs/{job_id}/cancel").status_code == 202
        until(lambda: shown(server, job_id)["state"] == "cancelled")
        gate.open_all()
        assert server.client.post(f"/api/jobs/{job_id}/resume").status_code == 202
        until(lambda: shown(server, job_id)["state"] == "done")
        again = server.client.post(f"/api/jobs/{job_id}/retry").json()
        assert again["retry_of"] == job_id
        until(lambda: shown(server, again["id"])["state"] == "done")
        assert server.client.delete(f"/api/jobs/{job_id}").status_code == 204
        assert shown(server, job_id)["error"]["code"] == "not_found"


def test_a_job_gives_way_to_answers_and_goes_on_after_them(served, gates, until):
    gate = gates()
    with served([HOLD, ord("h"), ord("i")]) as server:
        job_id = submit(server, gate)
        until(lambda: gate.reached(0))
        assert not shown(server, job_id)["paused"]
        answer = ask(server, "one")
        until(lambda: shown(server, job_id)["paused"])
        gate.open_all()
        assert shown(server, job_id)["state"] == "running"
        server.call(server.engine.release)
        assert answer.result(PATIENCE_S).exception() is None
        until(lambda: shown(server, job_id)["state"] == "done")
        paused = [event["paused"] for _, event in streamed(server, job_id) if event["type"] == "state"]
        assert paused == [False, False, True, False, False]


def test_answers_wait_for_a_job_that_has_the_machine_to_itself(served, gates, until):
    gate = gates()
    with served([ord("h"), ord("i")]) as server:
        job_id = submit(server, gate, chat="waits")
        until(lambda: gate.reached(0))

        def refusal():
            task = ask(server, "one").result(PATIENCE_S)
            return task.exception()

        refused = until(refusal)
        assert (refused.status, dict(refused.headers)) == (503, {"retry-after": "10"})
        assert "trial" in refused.message
        gate.open_all()
        until(lambda: shown(server, job_id)["state"] == "done")
        until(lambda: ask(server, "two").result(PATIENCE_S).exception() is None)


def test_together_neither_waits(served, gates, until):
    gate = gates()
    with served([HOLD, ord("h")]) as server:
        answer = ask(server, "one")
        gate.open_all()
        job_id = submit(server, gate, chat="together")
        until(lambda: shown(server, job_id)["state"] == "done")
        assert not answer.done()
        server.call(server.engine.release)
        assert answer.result(PATIENCE_S).exception() is None


def test_a_job_goes_on_when_the_server_that_answered_is_killed(lab, tended, gates, until):
    """A server that was killed while it answered holds no job up."""
    gone = lab.supervisor._me.__class__(lab.supervisor._me.host, 2**22 - 1, 1.0)
    gate = gates()
    gate.open_all()
    job = lab.desk.submit("trial", {"gates": str(gate)})
    lab.desk.store.announce(gone, busy=True)
    tended(lambda: lab.desk.get(job.id).ended)
    assert lab.desk.get(job.id).state == "done"
