"""Servers to measure, and how each is started; ``profiles.json`` lists them.

In a command, ``{model}``, ``{port}`` and ``{home}`` are filled in, ``{peers}`` is the folder of the peers' virtual
environments, and ``{python}`` the Python that runs this.
"""

import os
import shlex
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from benchmarks.serving.wire import clock

GRACE_S = 6
LOOK_S = 0.005


class Profile(Struct, frozen=True):
    """A server.

    Attributes:
        command: what starts it.
        ready: a path that answers 200 once it can be asked.
        body: put into every request, so that all servers do the same work.
        environment: added to the process's own.
        what: version and options, for the report.
    """

    command: str
    ready: str
    body: dict[str, Any] = {}
    environment: dict[str, str] = {}
    what: str = ""


def profiles() -> dict[str, Profile]:
    """Return all that are known, by name."""
    text = Path(__file__).with_suffix(".json").read_bytes()
    return msgspec.json.decode(text, type=dict[str, Profile])


class Running(Struct, frozen=True):
    """A server that was started.

    Attributes:
        begin: when.
        model: what it calls the model.
    """

    profile: Profile
    process: subprocess.Popen[bytes]
    port: int
    begin: float
    log: Path

    def until_ready(self, patience_s: float) -> float:
        """Return the seconds it took until it said that it can be asked.

        Raises:
            RuntimeError: it ended, or never said so.
        """
        while clock() - self.begin < patience_s and self.process.poll() is None:
            if _says_200(self.port, self.profile.ready):
                return clock() - self.begin
            time.sleep(LOOK_S)
        raise RuntimeError(f"not ready after {clock() - self.begin:.0f} s: {self.last_words()}")

    def last_words(self) -> str:
        """Return the end of what it has written."""
        return self.log.read_text(errors="replace")[-500:]


@contextmanager
def running(profile: Profile, model: Path, work: Path, peers: Path) -> Iterator[Running]:
    """Run a server for as long as the block lasts, in a process group and with a home of its own."""
    port = free_port()
    home = work / f"home-{port}"
    home.mkdir(parents=True)
    names = {"model": model, "port": port, "home": home, "peers": peers, "python": sys.executable}
    command = [part.format(**names) for part in shlex.split(profile.command)]
    log = work / f"{port}.log"
    with log.open("wb") as output:
        begin = clock()
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=_environment(profile, home, names),
            start_new_session=True,
        )
        try:
            yield Running(profile, process, port, begin, log)
        finally:
            _end(process)


def free_port() -> int:
    """Return a port that nobody uses now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _environment(profile: Profile, home: Path, names: Mapping[str, object]) -> dict[str, str]:
    """Return an environment with nobody's settings and caches.

    What MLX and Python have compiled is kept, as wherever somebody uses a server: without byte code all of them start
    two or three times slower.
    """
    own = {name: str(home / name.lower()) for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME")}
    offline = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "PYTHONUNBUFFERED": "1"}
    given = {name: value.format(**names) for name, value in profile.environment.items()}
    ours = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**ours, "HOME": str(home), **own, **offline, **given}


def _end(process: subprocess.Popen[bytes]) -> None:
    for sign in (signal.SIGTERM, signal.SIGKILL):
        if process.poll() is None:
            os.killpg(process.pid, sign)
            try:
                process.wait(GRACE_S)
            except subprocess.TimeoutExpired:
                continue


def _says_200(port: int, path: str) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=5) as asked:
            asked.sendall(
                f"GET {path} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\nconnection: close\r\n\r\n".encode()
            )
            return b" 200 " in asked.recv(64)
    except OSError:
        return False
