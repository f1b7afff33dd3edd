"""The agents themselves, headless, through ``mlxp launch``: each has one command run and hears what came of it.

Each needs its program on the path, and none needs a network.
"""

import os
import shutil
import subprocess
import sys

import pytest

from mlxp_core.cli.agents import AGENTS

PATIENCE_S = 240
ASKED = "Please have a word printed."

HEADLESS = {
    "claude": ("-p", ASKED, "--allowedTools", "Bash"),
    "codex": ("exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", ASKED),
    "opencode": ("run", "--auto", ASKED),
    "qwen": ("--yolo", "-p", ASKED),
    "pi": ("-p", ASKED),
}
"""Agent -> arguments with which it asks nobody and ends by itself."""

FILE = "greeting.txt"
EDIT = f"Here it is.\n\n{FILE}\n```\nhello, world\n```\n"


@pytest.fixture
def launch(server, tmp_path, monkeypatch):
    """Start an agent in a folder and home of its own; returns what it printed."""
    for place in ("home", "work"):
        (tmp_path / place).mkdir()

    def start(name, *arguments):
        program = AGENTS[name].program
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed ({AGENTS[name].install})")
        command = "from mlxp_core.cli.main import run; run()"
        done = subprocess.run(
            [
                *(
                    sys.executable,
                    "-c",
                    command,
                    "launch",
                    "--url",
                    server.url,
                    "--key",
                    "the-key",
                    name,
                    "--",
                ),
                *arguments,
            ],
            cwd=tmp_path / "work",
            env={**os.environ, "HOME": str(tmp_path / "home"), "IS_SANDBOX": "1", "TMPDIR": str(tmp_path)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
        assert done.returncode == 0, done.stdout
        return done.stdout

    return start


@pytest.mark.parametrize("name", HEADLESS)
def test_a_tool_goes_round(launch, model, tmp_path, name):
    told = launch(name, *HEADLESS[name])
    assert len(model.calls) == 1, told
    assert any("heard" in result for result in model.results), told
    assert "all is done" in told
    assert not list(tmp_path.glob("mlxp-launch-*")), "what it kept is gone"
    assert not list((tmp_path / "work").iterdir()), "nothing was left where it worked"
    assert not list((tmp_path / "home").iterdir()), "nor at home"


def test_aider_edits_a_file(launch, model, tmp_path):
    model.remark = EDIT
    launch("aider", "--no-git", "--map-tokens", "0", "--yes-always", "--message", ASKED, FILE)
    assert (tmp_path / "work" / FILE).read_text() == "hello, world\n"
    assert not list((tmp_path / "home").iterdir())


def test_every_agent_is_tried():
    assert {*HEADLESS, "aider"} == set(AGENTS)
