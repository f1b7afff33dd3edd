"""``mlxp top`` over a real server: what it shows is what the server says."""

import json
import os
import pty
import re
import signal
import subprocess
import sys
import threading

import pytest
from click.testing import CliRunner

from mlxp_core.cli.main import mlxp
from mlxp_core.loading.sketch import write_sketch

PATIENCE_S = 30
CHAT = "/v1/chat/completions"


def body(**more):
    return {"messages": [{"role": "user", "content": "Hello"}], "max_tokens": 6, "temperature": 0, **more}


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run ``mlxp`` in a wide terminal, away from the settings of whoever runs the tests."""
    for variable in [name for name in os.environ if name.startswith("MLXP_") and name != "MLXP_SHARED"]:
        monkeypatch.delenv(variable)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: CliRunner().invoke(mlxp, list(arguments), prog_name="mlxp")


def cells(output, first):
    """Return the cells of the line that begins so."""
    [line] = [line for line in output.splitlines() if line.startswith(first)]
    return re.split(r"\s{2,}", line.strip())


def test_it_shows_each_model_with_its_rows_and_what_ended(live, sketch, tmp_path, run):
    other = write_sketch(tmp_path / "second")
    with live(sketch, other) as served:
        for count, model in ((3, sketch.name), (1, "second")):
            for number in range(count):
                asked = body(model=model, max_tokens=5, seed=number)
                assert served.client.post(CHAT, json=asked).is_success
        assert served.client.post("/v1/models/second/pin").is_success
        output = run("top", "--once", "--url", served.url).output
    assert "ready" in output
    assert "rows 0 of 32" in output
    name, state, *numbers = cells(output, sketch.name)
    assert (name, state, numbers[0], numbers[1], numbers[3:]) == (
        sketch.name,
        "loaded",
        "0",
        "0",
        ["3", "0", "0", "15"],
    )
    assert float(numbers[2]) > 0
    name, state, *numbers = cells(output, "second ")
    assert (state, numbers[3:]) == ("loaded, pinned", ["1", "0", "0", "5"])
    assert output.count("openai-chat") == 4
    for part in ("weights", "rows", "prompt cache", "in all"):
        assert cells(output, f"{part}  ")


def shape(told):
    """Return what is left of JSON without its values."""
    return {key: shape(value) for key, value in told.items()} if isinstance(told, dict) else None


def test_json_is_what_the_server_says(live, sketch, run):
    with live(sketch) as served:
        assert served.client.post(CHAT, json=body()).is_success
        told = json.loads(run("top", "--json", "--url", served.url).output)
        assert shape(told["stats"]) == shape(served.client.get("/stats").json())  # numbers move
        assert told["requests"] == served.client.get("/v1/requests").json()


def test_without_a_server_it_says_so(run):
    for flags in ((), ("--once",), ("--json",)):
        result = run("top", "--url", "http://127.0.0.1:9", *flags)
        assert result.exit_code == 1
        assert "no server answers at http://127.0.0.1:9" in result.output


def test_it_needs_the_key_and_tells_so(live, sketch, run):
    with live(sketch, flags={"server": {"api_keys": ("sesame",)}}) as served:
        assert "401" in run("top", "--once", "--url", served.url).output
        assert "ready" in run("top", "--once", "--url", served.url, "--key", "sesame").output


def test_in_a_terminal_it_goes_on_until_it_is_stopped(live, sketch, tmp_path):
    ours, theirs = pty.openpty()
    seen, ready = [], threading.Event()

    def read():
        while True:
            try:
                piece = os.read(ours, 4096)
            except OSError:
                return
            seen.append(piece)
            if b"".join(seen).count(b"ready") >= 3:
                ready.set()

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    with live(sketch) as served:
        command = [sys.executable, "-c", "from mlxp_core.cli.main import run; run()", "top", "--every", "0.1"]
        shown = subprocess.Popen([*command, "--url", served.url], stdout=theirs, stderr=theirs, cwd=tmp_path)
        os.close(theirs)
        try:
            assert ready.wait(PATIENCE_S), b"".join(seen)
            shown.send_signal(signal.SIGINT)
            assert shown.wait(PATIENCE_S) == 0
        finally:
            shown.kill()
            shown.wait()
    reader.join(PATIENCE_S)
    os.close(ours)
    assert sketch.name.encode() in b"".join(seen)
