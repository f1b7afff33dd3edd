"""``mlxp serve``: what it refuses before it starts, and from start to stop as a process of its own."""

import json
import os
import queue
import re
import signal
import socket
import subprocess
import sys
import threading
from contextlib import contextmanager
from importlib.util import find_spec

import httpx
import pytest
from click.testing import CliRunner

from mlxp_core.cli.banner import address, banner
from mlxp_core.cli.flags import NO_FLAG, SECTIONS, said
from mlxp_core.cli.main import mlxp
from mlxp_core.cli.models import sketch
from mlxp_core.cli.progress import LINES, loading
from mlxp_core.cli.serve import serve
from mlxp_core.types import ServerSettings

PATIENCE_S = 60
SKETCHED = ("--disable", "demo") if find_spec("mlxp_demo") else ()
"""With these, the model that is served where none is named is the sketch."""


def refused(*arguments):
    result = CliRunner().invoke(mlxp, ["serve", *arguments])
    assert result.exit_code == 1, result.output
    assert "Traceback" not in result.output
    return result.output


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """Keep the settings and the cache of whoever runs the tests out of them."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))


def test_every_setting_is_a_flag_with_a_help_text():
    options = {option.name: option for option in serve.params}
    for section, kind in SECTIONS.items():
        for field in kind.__struct_fields__:
            if (section, field) not in NO_FLAG:
                assert options[f"{section}__{field}"].help, field


def test_flags_become_settings_by_section():
    given = {"server__port": 1, "server__api_keys": (), "engine__batch": None}
    assert said(given) == {"server": {"port": 1, "api_keys": ()}, "engine": {"batch": None}}


def test_a_port_in_use_is_said_before_anything_is_loaded():
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        assert f"port {port}" in refused("nowhere", "--port", str(port))


def test_a_model_that_is_not_there_is_named():
    assert "no/such-model" in refused("no/such-model", "--port", "0")


def test_a_folder_without_a_model_is_named(tmp_path):
    (tmp_path / "empty").mkdir()
    assert "config.json" in refused("./empty", "--port", "0")


def test_an_open_door_needs_a_key():
    assert "--insecure-public" in refused("--host", "0.0.0.0", "--port", "0")


def test_a_settings_file_that_is_not_there_is_named():
    assert "nothing.toml" in refused("--config", "nothing.toml")


def test_mlx_without_a_back_end_is_one_sentence(monkeypatch):
    monkeypatch.setitem(sys.modules, "mlx.core", None)
    output = refused("--port", "0")
    assert "mlxp-core[cpu]" in output
    assert len(output.strip().splitlines()) == 1


def test_the_sketch_is_written_once(tmp_path):
    first = sketch({"XDG_CACHE_HOME": str(tmp_path)}, tmp_path)
    stamp = (first / "model.safetensors").stat().st_mtime_ns
    again = sketch({"XDG_CACHE_HOME": str(tmp_path)}, tmp_path)
    assert first == again
    assert (again / "model.safetensors").stat().st_mtime_ns == stamp
    assert [entry.name for entry in first.parent.iterdir()] == ["mlxp-sketch"]


@pytest.mark.parametrize(("platform", "place"), [("linux", ".cache"), ("darwin", "Library/Caches")])
def test_the_sketch_lies_where_the_system_keeps_caches(tmp_path, platform, place):
    assert sketch({}, tmp_path, platform).is_relative_to(tmp_path / place / "mlxp")


@pytest.mark.parametrize(
    ("host", "expected"),
    [("127.0.0.1", "127.0.0.1"), ("0.0.0.0", "127.0.0.1"), ("::1", "[::1]"), ("mac", "mac")],
)
def test_the_address_can_be_opened(host, expected):
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        assert address(host, sock) == f"http://{expected}:{sock.getsockname()[1]}"


def test_the_banner_shows_how_to_ask():
    text = banner("m", "http://h:1", {}, ServerSettings(api_keys=("secret",)))
    assert "m at http://h:1" in text
    assert "$KEY" in text
    assert "secret" not in text


def test_without_a_terminal_progress_is_a_few_lines(capsys):
    with loading() as show:
        told = show("m")
        for done in range(101):
            told(done, 100)
    assert len(capsys.readouterr().err.splitlines()) == LINES


class Process:
    """``mlxp serve`` as a process; its output is read as it comes."""

    def __init__(self, *arguments, **environment):
        self.process = subprocess.Popen(
            [
                sys.executable,
                "-c",
                "from mlxp_core.cli.main import run; run()",
                "serve",
                "--port",
                "0",
                *arguments,
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, "PYTHONUNBUFFERED": "1", **environment},
        )
        self.lines = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            self.lines.put(line.strip())

    def wait_for(self, pattern):
        seen = []
        while not (seen and (found := re.search(pattern, seen[-1]))):
            seen.append(self.lines.get(timeout=PATIENCE_S))
        return found, seen


@contextmanager
def served(*arguments, **environment):
    pytest.importorskip("mlxp_minicpm5", reason="the sketch needs its family")
    pytest.importorskip("mlxp_protocols", reason="somebody must answer")
    running = Process(*arguments, **environment)
    try:
        yield running
    finally:
        running.process.kill()
        running.process.wait()
        running.process.stdout.close()


def body(**fields):
    return {"messages": [{"role": "user", "content": "Hello"}], "temperature": 0, **fields}


def test_a_server_from_start_to_stop():
    with served(*SKETCHED, "--max-tokens", "6") as running:
        found, seen = running.wait_for(r"serves mlxp-sketch at (\S+)")
        assert "no model was named" in seen[0]
        running.wait_for("ready after")
        with httpx.Client(base_url=found[1], timeout=PATIENCE_S) as client:
            assert client.get("/health").status_code == 200
            whole = client.post("/v1/chat/completions", json=body()).json()
            assert whole["usage"]["completion_tokens"] == 6
            streamed = client.post("/v1/chat/completions", json=body(stream=True)).text
            frames = [json.loads(line[6:]) for line in streamed.splitlines() if line.startswith("data: {")]
            pieces = [frame["choices"][0]["delta"] for frame in frames if frame["choices"]]
            keys = ("reasoning", "content")
            assert ["".join(piece.get(key) or "" for piece in pieces) for key in keys] == [
                whole["choices"][0]["message"].get(key) or "" for key in keys
            ]
        running.wait_for("request=.* reason=length")
        running.process.send_signal(signal.SIGINT)
        assert running.process.wait(PATIENCE_S) == 0


def is_open(url):
    try:
        return httpx.get(f"{url}/livez", timeout=PATIENCE_S).is_success
    except httpx.TransportError:
        return False


def test_a_second_signal_stops_at_once(tmp_path):
    """Neither is lost, also where MLX has compiled nothing before: it ignores Ctrl-C while it looks for a compiler."""
    with served(*SKETCHED, "--max-tokens", "4000", TMPDIR=str(tmp_path)) as running:
        found, _ = running.wait_for(r"serves \S+ at (\S+)")
        with (
            httpx.Client(base_url=found[1], timeout=PATIENCE_S) as client,
            client.stream("POST", "/v1/chat/completions", json=body(stream=True, n=8)) as answer,
        ):
            next(answer.iter_bytes())
            running.process.send_signal(signal.SIGINT)
            while is_open(found[1]):  # for a tick of the server
                pass
            running.process.send_signal(signal.SIGINT)
            assert running.process.wait(PATIENCE_S) == 128 + signal.SIGINT


def test_weights_that_cannot_be_loaded_end_the_server(tmp_path):
    pytest.importorskip("mlxp_minicpm5", reason="the sketch needs its family")
    folder = sketch({"XDG_CACHE_HOME": str(tmp_path / "broken")}, tmp_path)
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1000])
    with served(str(folder)) as running:
        assert running.process.wait(PATIENCE_S) == 1
