"""A real server with the lab, its page in a real browser, and a stranger's kinds of jobs beside the lab's own."""

import os

import pytest

from mlxp_core.loading.sketch import write_sketch
from mlxp_core.testing.live import serve_folders


@pytest.fixture(scope="module")
def lab_server(strangers, tmp_path_factory):
    """A server of a small model, with a lab of its own; no job is left behind."""
    home = tmp_path_factory.mktemp("home")
    sketch = write_sketch(home / "sketch")
    known = [str(strangers), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    flags = {
        "engine": {"dtype": "float32", "memory_budget": "4GB"},
        "lab": {"folder": str(home / "lab"), "grace_s": 1.0},
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join(filter(None, known)))
        patch.syspath_prepend(str(strangers))
        with serve_folders(sketch, flags=flags) as served:
            yield served


@pytest.fixture
def lab_page(visit, lab_server, until):
    """The lab, as a new visitor sees it; what a test has started, and left running, is stopped."""

    def begin(*place, **options):
        page = visit(f"{lab_server.url}/#/lab/{'/'.join(place)}", **options)
        page.get_by_role("navigation", name="Lab").wait_for()
        return page

    yield begin
    for job in left(lab_server):
        lab_server.client.post(f"/api/jobs/{job['id']}/cancel")
    until(lambda: not left(lab_server))


def left(server):
    """Return the jobs that have not ended."""
    ended = {"done", "failed", "cancelled"}
    return [job for job in server.client.get("/api/jobs").json()["jobs"] if job["state"] not in ended]


@pytest.fixture
def trial(lab_server, gates):
    """Submit a stranger's job; returns its id and the gates that hold it up."""

    def submit(kind="trial", **more):
        gate = gates()
        body = {"kind": kind, "parameters": {"gates": str(gate), **more}}
        answer = lab_server.client.post("/api/jobs", json=body)
        assert answer.status_code == 202, answer.text
        return answer.json()["id"], gate

    return submit
