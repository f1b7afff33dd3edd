"""A lab in a folder of its own, and a stranger's kinds of jobs, installed for the processes of jobs as well."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mlxp_core.cli.workbench import Bench
from mlxp_core.plugins import set_up
from mlxp_lab.jobs.kinds import gathered
from mlxp_lab.lab import open_lab, site_of

HERE = Path(__file__).parent
PATIENCE_S = 60.0


@pytest.fixture(scope="session")
def strangers(tmp_path_factory):
    """A folder that stands for site-packages, with a distribution that brings kinds of jobs."""
    site = tmp_path_factory.mktemp("site")
    (site / "lab_trials.py").write_bytes((HERE / "strangers" / "trials.py").read_bytes())
    info = site / "lab_trials-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        "Metadata-Version: 2.3\nName: lab-trials\nVersion: 1.0\nRequires-Dist: mlxp-core>=0.1,<0.2\n"
    )
    (info / "entry_points.txt").write_text("[mlxp]\ntrials = lab_trials\n")
    return site


@pytest.fixture
def home(tmp_path, strangers, monkeypatch):
    """The environment of a user with a lab of their own; returns its folder."""
    monkeypatch.setenv("MLXP_LAB_FOLDER", str(tmp_path / "lab"))
    monkeypatch.setenv(
        "PYTHONPATH",
        os.pathsep.join([str(strangers), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]).rstrip(
            os.pathsep
        ),
    )
    monkeypatch.syspath_prepend(str(strangers))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "lab"


@pytest.fixture
def labs(home, tmp_path):
    """Open the lab in this process, as often as it is called; at the end all jobs are stopped."""
    opened = []

    def opening():
        setup = set_up({}, config=None, environ=os.environ, here=tmp_path, home=tmp_path)
        bench, manager = Bench(setup), setup.registry.plugins.manager
        opened.append(open_lab(site_of(bench, bench), lambda settings: gathered(manager, settings)))
        return opened[-1]

    yield opening
    for lab in opened:
        for job in lab.desk.store.live():
            awaited(lambda job=job, lab=lab: stopped(lab, job.id))
        awaited(lambda lab=lab: alone(lab))
        lab.desk.store.close()


@pytest.fixture
def lab_with_families(monkeypatch, request):
    """The lab, with the model families beside it."""
    home = request.getfixturevalue("home")
    monkeypatch.setenv("MLXP_PLUGINS", "lab,trials,minicpm5,gemma4,qwen35")
    assert home
    return request.getfixturevalue("labs")()


@pytest.fixture
def lab(labs):
    """The lab, open in this process."""
    return labs()


def stopped(lab, job_id):
    """Have a job stop."""
    job = lab.desk.store.get(job_id)
    if not job.ended:
        lab.desk.store.ask_cancel(job_id)
        if job.whose is not None and job.state == "running":
            os.kill(job.whose.pid, 9)
        lab.supervisor.bury()
    return lab.desk.store.get(job_id).ended


def alone(lab):
    """Say whether the processes of all jobs that were started here have ended."""
    lab.supervisor.bury()
    return not lab.supervisor._children


def awaited(told, patience_s=PATIENCE_S):
    """Ask until the answer is true, and return it."""
    deadline_s = time.monotonic() + patience_s
    while not (answer := told()):
        assert time.monotonic() < deadline_s, "it did not come to pass"
        time.sleep(0.02)
    return answer


@pytest.fixture
def until():
    """Ask until the answer is true, and return it."""
    return awaited


class Gates:
    """What holds a trial up: it waits at each gate until the test opens it."""

    def __init__(self, folder):
        self.folder = folder
        folder.mkdir()

    def __str__(self):
        return str(self.folder)

    def open(self, *names):
        for name in names:
            (self.folder / str(name)).touch()

    def open_all(self):
        self.open(0, 1, 2, 3, "making", "made")

    def reached(self, name):
        return (self.folder / f"at-{name}").exists()


@pytest.fixture
def gates(tmp_path):
    """Make gates, all closed."""
    made = iter(range(100))
    return lambda: Gates(tmp_path / f"gates-{next(made)}")


@pytest.fixture
def tended(lab):
    """Look after the lab until something is so."""

    def tend(told, **kwargs):
        def look():
            lab.supervisor.tend(**kwargs)
            return told()

        return awaited(look)

    return tend


@pytest.fixture
def mlxp(home):
    """Run ``mlxp`` in a process of its own."""

    def run(*words, check=True):
        done = subprocess.run(
            [sys.executable, "-m", "mlxp_core", *words], capture_output=True, text=True, check=False
        )
        assert not check or done.returncode == 0, done.stderr
        return done

    return run
