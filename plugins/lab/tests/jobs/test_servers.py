"""Real servers that are killed: their jobs go on, and the next server tells the truth."""

import json
import os
import re
import signal
import subprocess
import sys
import threading

import httpx
import pytest

from mlxp_core.loading.sketch import write_sketch


class Server:
    """``mlxp serve`` in a process of its own."""

    def __init__(self, folder):
        command = [sys.executable, "-m", "mlxp_core", "serve", str(folder), "--port", "0", "--no-open"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.url = next(
            found[0] for line in self.process.stdout if (found := re.search(r"http://127\S+", line))
        )
        self._drain = threading.Thread(target=self.process.stdout.read)
        self._drain.start()

    def jobs(self):
        return {job["id"]: job for job in httpx.get(f"{self.url}/api/jobs", timeout=20).json()["jobs"]}

    def submit(self, gates):
        body = {"kind": "trial", "parameters": {"gates": str(gates)}}
        return httpx.post(f"{self.url}/api/jobs", json=body, timeout=20).json()["id"]

    def end(self, how):
        self.process.send_signal(how)
        self.process.wait(60)
        self._drain.join()
        self.process.stdout.close()


@pytest.fixture
def server(home, tmp_path, monkeypatch):
    """Start a server; all are ended."""
    monkeypatch.setenv("MLXP_PLUGINS", "")
    started, folder = [], write_sketch(tmp_path / "sketch")

    def start():
        started.append(Server(folder))
        return started[-1]

    yield start
    for each in started:
        if each.process.poll() is None:
            each.end(signal.SIGTERM)


def test_a_job_outlives_a_killed_server_and_the_next_one_tells_how_it_ended(server, gates, until):
    first, gate = server(), gates()
    job_id = first.submit(gate)
    until(lambda: gate.reached(0))
    first.end(signal.SIGKILL)
    second = server()
    assert second.jobs()[job_id]["state"] == "running"
    gate.open_all()
    until(lambda: second.jobs()[job_id]["state"] == "done")
    assert second.jobs()[job_id]["attempt"] == 1


def test_after_server_and_job_were_killed_the_next_server_says_so(server, gates, until):
    first, gate, waiting = server(), gates(), gates()
    job_id, next_id = first.submit(gate), first.submit(waiting)
    waiting.open_all()
    until(lambda: gate.reached(0))
    pid = first.jobs()[job_id]["whose"]["pid"]
    first.end(signal.SIGKILL)
    os.kill(pid, signal.SIGKILL)
    second = server()
    until(lambda: second.jobs()[job_id]["state"] == "failed")
    assert "without a word" in second.jobs()[job_id]["error"]
    until(lambda: second.jobs()[next_id]["state"] == "done")
    events = httpx.get(f"{second.url}/api/jobs/{job_id}/stream", timeout=20).text
    last = json.loads(events.strip().split("\n\n")[-2].split("data: ")[1])
    assert last["state"] == "failed"


def test_two_servers_leave_each_other_s_jobs_alone(server, gates, until):
    first, second, gate = server(), server(), gates()
    job_id = first.submit(gate)
    until(lambda: gate.reached(0))
    first.end(signal.SIGTERM)
    until(lambda: second.jobs()[job_id]["state"] == "running")
    gate.open_all()
    until(lambda: second.jobs()[job_id]["state"] == "done")
