"""Pushed by a job of the lab, by name; and by the command."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from threading import Event

import pytest
from click.testing import CliRunner

from mlxp_core.cli.workbench import Bench
from mlxp_core.errors import MlxpError
from mlxp_core.plugins import set_up
from mlxp_hub.push_command import push
from mlxp_lab.jobs import BadParameters
from mlxp_lab.jobs.kinds import gathered
from mlxp_lab.lab import open_lab, site_of

pytestmark = pytest.mark.filterwarnings(
    "ignore:Use 'content=<...>':DeprecationWarning"
)  # huggingface-hub's own


@pytest.fixture
def setup(receiver, settings, tmp_path, monkeypatch):
    """What a user has set up who has a lab, that hub, and nothing else."""
    environ = {
        "MLXP_LAB_FOLDER": str(tmp_path / "lab"),
        "MLXP_HUB_ENDPOINT": receiver.url,
        "MLXP_HUB_TOKEN": receiver.token,
        "MLXP_HUB_CACHE": settings.cache,
        "MLXP_PLUGINS_ONLY": "lab,hub",
    }
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    return set_up({}, config=None, environ=os.environ, here=tmp_path, home=tmp_path)


@pytest.fixture
def bench(setup):
    return Bench(setup)


@pytest.fixture
def lab(setup, bench):
    manager = setup.registry.plugins.manager
    opened = open_lab(site_of(bench, bench), lambda settings: gathered(manager, settings))
    yield opened
    while opened.supervisor._children:
        opened.supervisor.bury()
        Event().wait(0.02)
    opened.desk.store.close()


@pytest.fixture
def run(bench):
    """Run ``mlxp push`` in this process."""

    def run(*words):
        done = CliRunner().invoke(push, words, obj=bench)
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        return done

    return run


def test_a_job_pushes_a_dataset_by_its_name(lab, receiver, dataset):
    job = lab.desk.submit("push", {"source": "words", "repo": "me/words"})
    assert (job.title, job.device, job.parameters["kind"]) == ("me/words", "cpu", "dataset")
    deadline_s = time.monotonic() + 60
    while not (job := lab.desk.get(job.id)).ended:
        lab.supervisor.tend()
        assert time.monotonic() < deadline_s
        Event().wait(0.02)
    assert job.state == "done", job.error
    assert job.result["url"] == f"{receiver.url}/datasets/me/words"
    assert job.result["files"] == 3
    assert set(receiver.files("me/words", "datasets")) == {"train.jsonl", "valid.jsonl", "README.md"}


@pytest.mark.parametrize(
    ("change", "param"),
    [
        ({"source": "no"}, "source"),
        ({"source": ""}, "source"),
        ({"source": "a\0b"}, "source"),
        ({"source": "x" * 5000}, "source"),
        ({"source": ".."}, "source"),
        ({"source": "words", "kind": "model"}, "source"),
        ({"repo": "words"}, "repo"),
        ({"repo": "me/words@dev"}, "repo"),
        ({"repo": "me/../words"}, "repo"),
        ({"message": " "}, "message"),
        ({"kind": "space"}, "kind"),
    ],
    ids=range(11),
)
def test_what_cannot_be_pushed_is_refused_before_anything_is_sent(lab, dataset, change, param):
    with pytest.raises(BadParameters) as refused:
        lab.desk.submit("push", {"source": "words", "repo": "me/words", **change})
    assert refused.value.param == param


def test_a_job_pushes_no_folder_from_elsewhere(lab, model, dataset, monkeypatch):
    monkeypatch.chdir(model.parent)
    for source in (str(model), model.name, f"./{model.name}", f"../{model.parent.name}/{model.name}"):
        with pytest.raises(BadParameters):
            lab.desk.submit("push", {"source": source, "repo": "me/it"})
    monkeypatch.chdir(model.parent.parent)
    with pytest.raises(BadParameters):
        lab.desk.submit("push", {"source": f"{model.parent.name}/{model.name}", "repo": "me/it"})
    assert lab.desk.submit("push", {"source": str(dataset), "repo": "me/it"}).parameters["source"] == str(
        dataset
    )


def test_the_command_pushes_folders_and_what_the_lab_has_made(run, receiver, model, dataset):
    done = run(str(model), "me/it", "--json")
    assert json.loads(done.stdout)["files"] == 6
    assert "100 %" in done.stderr
    assert receiver.repos["models", "me/it"]["private"]
    run("words", "me/words", "--public", "-m", "Words.")
    assert receiver.repos["datasets", "me/words"]["commits"] == ["Words."]
    assert not receiver.repos["datasets", "me/words"]["private"]


@pytest.mark.parametrize("words", [("no", "me/it"), ("words", "it"), ("words", "me/it@dev")])
def test_what_is_wrong_with_a_command_is_told(run, dataset, words):
    with pytest.raises(MlxpError):
        run(*words)


def test_the_command_is_there_without_a_lab(tmp_path):
    told = subprocess.run(
        [sys.executable, "-m", "mlxp_core", "push", "no/such", "me/it"],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={**os.environ, "MLXP_PLUGINS_ONLY": "hub", "HF_HUB_CACHE": str(Path(tmp_path) / "hub")},
    )
    assert told.returncode == 1
    assert "no/such" in told.stderr


def test_neither_a_start_nor_a_list_of_kinds_waits_for_the_hubs_library():
    modules = "mlxp_hub.push_command, mlxp_hub.lab, mlxp_hub.account"
    code = f"import sys, {modules}; sys.exit('huggingface_hub' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
