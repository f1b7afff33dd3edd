"""``mlxp serve`` in two processes: what users start, and how it ends, one way or the other."""

import json
import os
import queue
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path

import httpx
import psutil
import pytest
from rank_hosts import PATIENCE_S, hosts_of_our_own

from mlxp_core.cli.ranked import check_servable
from mlxp_core.cli.selection import set_up_here
from mlxp_core.errors import SetupError

SERVE = ("serve", "--port", "0", "--dtype", "float32", "--no-open")
MLXP = (sys.executable, "-c", "from mlxp_core.cli.main import run; run()")
CHAT = {"model": "", "messages": [{"role": "user", "content": "Hello"}], "temperature": 0, "max_tokens": 6}


class Running:
    """A process in a group of its own; what it prints is read as it comes."""

    def __init__(self, command, env):
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**env, "PYTHONUNBUFFERED": "1"},
            start_new_session=True,
        )
        self.said = []
        self._lines = queue.Queue()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self):
        for line in self.process.stdout:
            self._lines.put(line)
        self._lines.put(None)

    def wait_for(self, pattern):
        """Return the match in the first line that has one."""
        while (line := self._lines.get(timeout=PATIENCE_S)) is not None:
            self.said.append(line)
            if found := re.search(pattern, line):
                return found
        raise AssertionError(f"it never said {pattern!r}: {''.join(self.said)}")

    def wait(self):
        """Wait for its end, and return the exit status."""
        return self.process.wait(PATIENCE_S)

    def rest(self):
        """Return everything it said, once it has ended."""
        self._reader.join(PATIENCE_S)
        while (line := self._lines.get(timeout=PATIENCE_S)) is not None:
            self.said.append(line)
        return "".join(self.said)

    def end(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        self._reader.join()
        self.process.stdout.close()


@pytest.fixture
def start(tmp_path, monkeypatch):
    """Start processes; settings and cache of whoever runs the tests are out of reach."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    started = []

    def run(command, **env):
        started.append(Running(command, {**os.environ, **env}))
        return started[-1]

    yield run
    for running in started:
        running.end()


@pytest.fixture
def ranks(start, tmp_path):
    """Start both ranks of a model, as ``mlx.launch`` does on two computers."""
    hosts = tmp_path / "hosts.json"
    hosts.write_text(json.dumps(hosts_of_our_own(2, first=25000)))

    def both(folder):
        shared = {"MLX_HOSTFILE": str(hosts)}
        return [start((*MLXP, *SERVE, str(folder)), **shared, MLX_RANK=str(rank)) for rank in range(2)]

    return both


def test_mlx_launch_serves_and_ctrl_c_ends_all(start, tmp_path, tiny_checkpoints):
    addresses = [host.rpartition(":")[0] for (host,) in hosts_of_our_own(2)]
    hosts = tmp_path / "hosts.json"
    hosts.write_text(json.dumps([{"ssh": "127.0.0.1", "ips": [address]} for address in addresses]))
    launch = Path(sys.executable).parent / "mlx.launch"
    ring = ("--backend", "ring", "--hostfile", str(hosts), "--starting-port", "28000")
    running = start((str(launch), *ring, "--", *MLXP, *SERVE, str(tiny_checkpoints / "minicpm5")))
    url = running.wait_for(r"serves .+ at (\S+)")[1]
    running.wait_for("computed by 2 ranks over ring")
    running.wait_for("ready after")
    answer = httpx.post(f"{url}/v1/chat/completions", json=CHAT, timeout=PATIENCE_S)
    assert answer.json()["usage"]["completion_tokens"] > 0
    everybody = psutil.Process(running.process.pid).children(recursive=True)
    assert len(everybody) >= 2
    os.killpg(running.process.pid, signal.SIGINT)
    running.wait()
    _, alive = psutil.wait_procs(everybody, PATIENCE_S)
    assert alive == []


def test_when_a_rank_dies_everybody_learns_it_and_the_server_ends(ranks, tiny_checkpoints):
    first, other = ranks(tiny_checkpoints / "qwen35-text")
    url = first.wait_for(r"serves .+ at (\S+)")[1]
    first.wait_for("ready after")
    body = {**CHAT, "max_tokens": 2000, "stream": True, "ignore_eos": True}
    with httpx.stream("POST", f"{url}/v1/chat/completions", json=body, timeout=PATIENCE_S) as answer:
        pieces = answer.iter_lines()
        next(pieces)
        other.process.kill()
        told = [piece.removeprefix("data: ") for piece in pieces if piece.startswith("data: ")]
    error = json.loads(told[-1])["error"]
    assert error["type"] == "server_error"
    assert "again" in error["message"]
    assert "rank" in error["message"]
    assert first.wait() == 1
    assert "the ranks can no longer compute together" in first.rest()


def test_the_other_rank_ends_with_the_first(ranks, tiny_checkpoints):
    first, other = ranks(tiny_checkpoints / "minicpm5")
    first.wait_for("ready after")
    other.process.send_signal(signal.SIGINT)  # is the first one's business
    first.process.kill()
    assert other.wait() == 1
    assert "rank 0 has gone" in other.rest()


def test_a_model_that_cannot_be_divided_is_refused_by_name(ranks, tiny_checkpoints, tmp_path):
    odd = tmp_path / "odd"
    odd.mkdir()
    for file in (tiny_checkpoints / "minicpm5").iterdir():
        (odd / file.name).symlink_to(file)
    config = json.loads((odd / "config.json").read_text()) | {"num_attention_heads": 3}
    (odd / "config.json").unlink()
    (odd / "config.json").write_text(json.dumps(config))
    first, other = ranks(odd)
    assert first.wait() == 1
    assert "mlxp: minicpm5: num_attention_heads 3 cannot be divided among 2 ranks" in first.rest()
    assert other.wait() == 0


@pytest.mark.parametrize(
    ("section", "key", "value"),
    [
        ("adapters", "mount", ("a=folder",)),
        ("engine", "prompt_cache_dir", "folder"),
        ("engine", "speculate", "head"),
        ("engine", "draft_model", "small"),
    ],
)
def test_what_ranks_cannot_do_is_refused_before_anything_is_loaded(section, key, value):
    setup = set_up_here({section: {key: value}, "plugins": {"only": ("minicpm5",)}}, None)
    with pytest.raises(SetupError, match="several ranks"):
        check_servable(setup)
