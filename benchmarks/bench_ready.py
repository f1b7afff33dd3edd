"""How long `mlxp serve` takes from its start to its first answer: `python benchmarks/bench_ready.py`; prints JSON.

    python benchmarks/bench_ready.py [MODEL] [--runs 10]

Each run is a new process. `ready_ms` is the time from its start to `GET /health` saying 200, `answer_ms` to the end of
a chat answer of one token; `imports_ms` is Python itself and the imports of such a process. `cold_ready_ms` is one run
after the system was asked to forget the files of Python's packages. The model is the project's own sketch unless a
folder is given.
"""

import argparse
import json
import os
import platform
import socket
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from mlxp_core.loading.sketch import write_sketch

IMPORTS = (
    "import mlxp_core.cli.main, mlxp_core.cli.serve, mlxp_core.server, mlxp_core.desk, mlxp_core.loading, "
    "mlxp_core.engine.runner, mlxp_core.loading.network, mlxp_protocols.openai_chat.plugin, "
    "mlxp_minicpm5.text"
)
ASKED = {"messages": [{"role": "user", "content": "Hello"}], "max_tokens": 1, "temperature": 0}
PATIENCE_S = 60


def free_port() -> int:
    """Return a port that nobody uses now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def started(model: Path, port: int) -> Iterator[None]:
    """Run a server for as long as the block lasts, which begins as the process does."""
    command = [sys.executable, "-m", "mlxp_core", "serve", str(model), "--port", str(port)]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        server.kill()
        server.wait()


def first_answers(model: Path) -> tuple[float, float]:
    """Return milliseconds from the start of a server to the first good health, and to the first chat answer."""
    port = free_port()
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=PATIENCE_S) as client:
        begin = time.perf_counter()
        with started(model, port):
            while not healthy(client):
                if time.perf_counter() - begin > PATIENCE_S:
                    raise SystemExit(
                        f"{model}: the server was not ready after {PATIENCE_S} s; run mlxp serve by hand"
                    )
            ready = time.perf_counter()
            client.post("/v1/chat/completions", json=ASKED).raise_for_status()
            return (ready - begin) * 1e3, (time.perf_counter() - begin) * 1e3


def healthy(client: httpx.Client) -> bool:
    """Ask once; wait a little where nobody listens yet."""
    try:
        return client.get("/health").is_success
    except httpx.TransportError:
        time.sleep(0.002)
        return False


def forget_packages() -> bool:
    """Ask the system to drop the packages from its page cache, where it can be asked; say whether it could."""
    if not hasattr(os, "posix_fadvise"):
        return False
    for folder in {
        sysconfig.get_path("purelib"),
        sysconfig.get_path("platlib"),
        sysconfig.get_path("stdlib"),
    }:
        for path in Path(folder).rglob("*"):
            if path.is_file():
                with path.open("rb") as file:
                    os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    return True


def imports() -> float:
    """Return milliseconds of a process that only imports what a server does."""
    begin = time.perf_counter()
    subprocess.run([sys.executable, "-c", IMPORTS], check=True)
    return (time.perf_counter() - begin) * 1e3


def main() -> None:
    """Measure and print."""
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("model", nargs="?", type=Path)
    arguments.add_argument("--runs", type=int, default=10)
    chosen = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_CONFIG_HOME"] = folder  # nobody's settings
        os.environ.pop(
            "PYTHONDONTWRITEBYTECODE", None
        )  # where somebody works, what is imported has been compiled
        model = chosen.model or write_sketch(Path(folder) / "sketch")
        first_answers(model)
        cold = first_answers(model)[0] if forget_packages() else None
        runs = [first_answers(model) for _ in range(chosen.runs)]
        imported = [imports() for _ in range(chosen.runs)]
    ready, answer = ([run[place] for run in runs] for place in (0, 1))
    result = {
        "model": model.name,
        "runs": chosen.runs,
        "cold_ready_ms": None if cold is None else round(cold),
        "ready_ms": round(statistics.median(ready)),
        "best_ready_ms": round(min(ready)),
        "answer_ms": round(statistics.median(answer)),
        "imports_ms": round(statistics.median(imported)),
        "python": platform.python_version(),
    }
    sys.stdout.write(json.dumps(result) + "\n")


if __name__ == "__main__":
    main()
