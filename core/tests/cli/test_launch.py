"""``mlxp launch``: an agent hears of the server, and keeps what it keeps in a folder that goes."""

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import msgspec
import pytest

from mlxp_core.cli.agents import AGENTS, Target
from mlxp_core.cli.launch import script
from mlxp_core.cli.reach import reach, started
from mlxp_core.contracts import Query, WireProtocol
from mlxp_core.errors import SetupError
from mlxp_core.loading.sketch import write_sketch
from mlxp_core.testing.client import serve
from mlxp_core.types import WireResponse

REPORTER = """#!{python}
import json, os, pathlib, sys
texts = {{}}
for place in sorted(set(os.environ.values()) | set(sys.argv)):
    folder = pathlib.Path(place) if "launch-" in place or "tmp." in place else None
    while folder and not folder.is_dir():
        folder = folder.parent
    if folder:
        texts |= {{path.name: path.read_text() for path in folder.iterdir() if path.is_file()}}
told = {{"environment": dict(os.environ), "arguments": sys.argv[1:], "files": texts}}
pathlib.Path(os.environ["REPORT"]).write_text(json.dumps(told))
sys.exit(7)
"""
"""A program that tells how it was started."""


@pytest.fixture
def report(tmp_path, monkeypatch):
    """Put programs with the names of all agents on the path; returns what the one that was started told."""
    folder = tmp_path / "programs"
    folder.mkdir()
    for agent in AGENTS.values():
        program = folder / agent.program
        program.write_text(REPORTER.format(python=sys.executable))
        program.chmod(0o755)
    told = tmp_path / "report.json"
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("REPORT", str(told))
    return lambda: json.loads(told.read_text())


@pytest.fixture(scope="module")
def server():
    """A server with a key and all surfaces."""
    with surfaces("anthropic_messages", "native", "openai_chat", "openai_responses") as served:
        yield served


def surfaces(*names):
    """Serve these surfaces; they take a key."""
    pytest.importorskip("mlxp_protocols", reason="somebody must answer")
    modules = [pytest.importorskip(f"mlxp_protocols.{name}.plugin") for name in names]
    flags = {"server": {"port": 0, "api_keys": ["k"]}}
    plugins = [(name.replace("_", "-"), module) for name, module in zip(names, modules, strict=True)]
    return serve([], plugins=plugins, flags=flags)


def target(**changes):
    return Target(
        **{
            "url": "http://127.0.0.1:1",
            "key": "the key",
            "model": 'owner/"model"',
            "folder": "/folder",
            "home": "/home/me",
            "context": 4096,
            "thinking": True,
            "vision": True,
            **changes,
        }
    )


@pytest.mark.parametrize("name", AGENTS)
@pytest.mark.parametrize("context", [4096, None])
def test_an_agent_is_told_address_key_and_model(name, context):
    ready = AGENTS[name].prepare(target(context=context))
    for file, text in ready.files.items():
        assert file == Path(file).name, "files lie in the folder itself"
        (tomllib.loads if file.endswith(".toml") else json.loads)(text)
    values = [*ready.environment.values(), *ready.arguments]
    for file, text in ready.files.items():
        read = tomllib.loads(text) if file.endswith(".toml") else json.loads(text)
        values += leaves(read)
    assert any(str(value).startswith("http://127.0.0.1:1") for value in values)
    assert "the key" in values
    assert any(str(value).endswith('owner/"model"') for value in values)
    assert ready.environment.keys().isdisjoint(ready.unset)


@pytest.mark.parametrize("name", AGENTS)
def test_every_place_an_agent_is_given_is_in_its_folder(name):
    ready = AGENTS[name].prepare(target())
    places = [text for text in (*ready.environment.values(), *ready.arguments) if text.startswith("/")]
    assert places
    assert all(place.startswith("/folder") or place == "/home/me/.gitconfig" for place in places)


def leaves(value):
    match value:
        case dict():
            for key, inner in value.items():
                yield key
                yield from leaves(inner)
        case list():
            for inner in value:
                yield from leaves(inner)
        case other:
            yield other


@pytest.mark.parametrize("name", AGENTS)
def test_the_agent_runs_as_prepared_and_its_folder_goes(run, report, server, name):
    result = run("launch", "--url", f"{server.url}/", "--key", "k", name, "--", "-p", "two words")
    assert result.exit_code == 7, result.output
    told = report()
    own = next(text for text in (*told["environment"].values(), *told["arguments"]) if "mlxp-launch-" in text)
    own = own[: own.index(f"/{name}") + len(name) + 1]
    assert not Path(own).exists()
    ready = AGENTS[name].prepare(
        target(
            url=server.url,
            key="k",
            model="sketch",
            folder=own,
            home=str(Path.home()),
            context=512,
            vision=False,
        )
    )
    assert told["environment"].items() >= ready.environment.items()
    assert told["arguments"] == [*ready.arguments, "-p", "two words"]
    assert told["files"].items() >= ready.files.items()


@pytest.mark.parametrize("name", AGENTS)
def test_the_printed_script_does_the_same(report, name):
    agent = AGENTS[name]
    text = script(
        agent,
        agent.prepare(target(folder="$AGENT_FOLDER", key="$MLXP_KEY")),
        ('$HOME "quoted" `x` \\',),
        keyed=True,
    )
    assert "the key" not in text
    environ = {**os.environ, "MLXP_KEY": "the key", **dict.fromkeys(agent.prepare(target()).unset, "other")}
    done = subprocess.run(["sh", "-c", text], env=environ, check=False, capture_output=True, text=True)
    assert done.returncode == 7, done.stderr
    told = report()
    assert "AGENT_FOLDER" not in told["environment"], "the script's own variable stays its own"
    assert told["arguments"][-1] == '$HOME "quoted" `x` \\'
    where = next(text for text in (*told["environment"].values(), *told["arguments"]) if "tmp." in text)
    where = re.match(r".*/tmp\.[^/]+", where)[0]
    ready = agent.prepare(target(folder=where))
    assert told["environment"].items() >= ready.environment.items()
    assert told["arguments"][:-1] == list(ready.arguments)
    assert told["files"].items() >= ready.files.items()
    assert told["environment"].keys().isdisjoint(agent.prepare(target()).unset)
    assert not Path(where).exists()


def test_a_key_is_asked_for_and_never_shown(run, server):
    result = run("launch", "--print", "--url", server.url, "--key", "k", "codex")
    assert result.exit_code == 0
    assert "MLXP_KEY:?" in result.output
    assert 'AGENT_API_KEY="$MLXP_KEY"' in result.output


def test_the_address_and_the_key_come_from_the_settings(run, report, server, monkeypatch):
    monkeypatch.setenv("MLXP_SERVER_PORT", server.url.rpartition(":")[2])
    monkeypatch.setenv("MLXP_SERVER_API_KEYS", "k,other")
    assert run("launch", "codex").exit_code == 7
    assert report()["environment"]["AGENT_API_KEY"] == "k"


def refused(result):
    assert result.exit_code == 1, result.output
    assert "Traceback" not in result.output
    return result.output


def test_an_agent_that_is_not_installed_is_named_with_how_to_install_it(run, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "npm install -g @openai/codex" in refused(run("launch", "codex"))


def test_where_nothing_answers_it_is_said_how_to_go_on(run, report):
    assert "mlxp serve" in refused(run("launch", "--url", "http://127.0.0.1:9", "codex"))


def test_a_wrong_key_is_said(run, report, server):
    assert "401" in refused(run("launch", "--url", server.url, "--key", "other", "codex"))


def test_a_surface_that_is_off_is_said(run, report):
    with surfaces("native", "openai_chat") as served:
        assert "POST /v1/messages" in refused(run("launch", "--url", served.url, "--key", "k", "claude"))


def test_something_else_that_answers_is_said():
    class Other(msgspec.Struct):
        name: str = "other"

    def answer(_request, _services):
        return WireResponse(body=b'{"endpoints": 3}')

    query = Query(path="/v1", answer=answer, returns=Other, summary="Something")
    other = WireProtocol(name="other", endpoints=(query,), render_error=lambda _: WireResponse(body=b""))
    with serve([other]) as served, pytest.raises(SetupError, match="no mlxp server"):
        reach(served.url, None)


def test_a_server_is_started_for_the_agent_and_stops_with_it(tmp_path, monkeypatch):
    pytest.importorskip("mlxp_minicpm5", reason="the sketch needs its family")
    pytest.importorskip("mlxp_protocols", reason="somebody must answer")
    monkeypatch.chdir(tmp_path)
    folder = write_sketch(tmp_path / "sketch")
    with started(str(folder), None, tmp_path / "log") as url:
        found = reach(url, None)
        assert found.models[0].id == "sketch"
    assert reach(url, None) is None


def test_a_server_that_does_not_start_says_why(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with (
        pytest.raises(SetupError, match="no/such-model"),
        started("no/such-model", None, tmp_path / "log"),
    ):
        pass
