"""What the server adds to each token: `python benchmarks/bench_server.py`; prints JSON.

    python benchmarks/bench_server.py [--streams 8] [--tokens 500] [--runs 5]

The same answers are generated twice by processes of their own, each on one core: by the engine alone, and by
`mlxp serve` to as many clients as there are streams, which read from another core. What the second takes longer is the
server's: reading, events, encoding, HTTP. The model is the project's own sketch.
"""

import argparse
import asyncio
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from mlxp_core.engine import Engine, LoadPlan, Order
from mlxp_core.loading import choose_family, load_frontend, open_folder
from mlxp_core.loading.sketch import write_sketch
from mlxp_core.plugins import build_registry, load_plugins, load_settings
from mlxp_core.types import (
    EngineSettings,
    Event,
    Failed,
    Finished,
    GenerateRequest,
    Message,
    PluginSettings,
    Sampling,
    Text,
)

BIAS = {1: -100.0, 25: -100.0}
"""Keeps end tokens away, so that every answer has its full length."""


def pin(core: int) -> bool:
    """Keep this process on one core, where the system can; say whether it is there."""
    if not hasattr(os, "sched_setaffinity"):
        return False
    os.sched_setaffinity(0, {core % (os.cpu_count() or 1)})
    return True


class Count:
    """Counts answers that have ended."""

    def __init__(self, streams: int) -> None:
        self._left = streams
        self.done = threading.Event()

    def take(self, events: list[Event]) -> None:
        """Be the sink of an answer."""
        for event in events:
            match event:
                case Finished():
                    self._left -= 1
                case Failed():
                    raise SystemExit(f"the engine failed: {event.message}")
        if not self._left:
            self.done.set()


def engine_alone(folder: Path, streams: int, tokens: int, runs: int) -> list[float]:
    """Return the seconds of each run of the engine without a server."""
    plugins = load_plugins(PluginSettings())
    registry = build_registry(plugins, load_settings(None, {}, {}, plugins.sections, absent=plugins.absent))
    model = open_folder(folder)
    family, config = choose_family(model, registry.families)
    frontend = load_frontend(model, registry)
    engine = Engine(
        {"m": LoadPlan(folder=model, family=family, config=config)}, EngineSettings(batch=streams), {}
    )
    engine.start(lambda call: call())
    engine.wait_ready()
    took = []
    for run in range(runs + 1):
        count = Count(streams)
        orders = []
        for stream in range(streams):
            request = GenerateRequest(
                id=f"{run}-{stream}",
                model="m",
                prompt=(Message(role="user", parts=(Text(f"Hello {stream}"),)),),
                sampling=Sampling(temperature=0.0, seed=0, logit_bias=BIAS),
                max_tokens=tokens,
            )
            prompt = frontend.prepare(request)
            reader = frontend.reader(request, prompt, 0)
            orders.append(Order(request=request, prompt=prompt, reader=reader, model="m", sink=count.take))
        begin = time.perf_counter()
        for order in orders:
            engine.submit([order])
        count.done.wait()
        took.append(time.perf_counter() - begin)
    engine.stop(0.0)
    return took[1:]  # the first one warmed up


async def read_stream(port: int, stream: int, tokens: int) -> None:
    """Ask for one stream and read it to its end."""
    body = json.dumps(
        {
            "messages": [{"role": "user", "content": f"Hello {stream}"}],
            "max_tokens": tokens,
            "temperature": 0,
            "logit_bias": BIAS,
            "stream": True,
        }
    )
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n"
    writer.write(f"{head}Connection: close\r\n\r\n{body}".encode())
    said = await reader.read()
    writer.close()
    if b"[DONE]" not in said:
        raise SystemExit(f"a stream broke: {said[-300:]!r}")


async def all_streams(port: int, streams: int, tokens: int) -> float:
    """Return the seconds until all have been read."""
    begin = time.perf_counter()
    await asyncio.gather(*(read_stream(port, stream, tokens) for stream in range(streams)))
    return time.perf_counter() - begin


def served(folder: Path, streams: int, tokens: int, runs: int) -> list[float]:
    """Return the seconds of each run of a server."""
    command = [
        sys.executable,
        "-m",
        "mlxp_core",
        "serve",
        str(folder),
        "--port",
        "0",
        "--batch",
        str(streams),
    ]
    server = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
        preexec_fn=lambda: pin(0),  # noqa: PLW1509  # nothing else runs here yet
    )
    try:
        assert server.stdout is not None
        said = next(line for line in server.stdout if " serves " in line)
        port = int(said.rsplit(":", 1)[1])
        return [asyncio.run(all_streams(port, streams, tokens)) for _ in range(runs + 1)][1:]
    finally:
        server.kill()
        server.wait()


def main() -> None:
    """Measure and print; with ``--alone``, be the engine's own process."""
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("--streams", type=int, default=8)
    arguments.add_argument("--tokens", type=int, default=500)
    arguments.add_argument("--runs", type=int, default=5)
    arguments.add_argument("--alone", type=Path, help=argparse.SUPPRESS)
    chosen = arguments.parse_args()
    size = (chosen.streams, chosen.tokens, chosen.runs)
    if chosen.alone is not None:
        pin(0)
        sys.stdout.write(json.dumps(engine_alone(chosen.alone, *size)))
        sys.stdout.flush()
        os._exit(0)  # see mlxp_core.cli.main.run
    pinned = pin(1)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_CONFIG_HOME"] = folder  # nobody's settings
        model = write_sketch(Path(folder) / "sketch")
        again = [sys.executable, __file__, *sys.argv[1:], "--alone", str(model)]
        alone = json.loads(subprocess.run(again, check=True, capture_output=True, text=True).stdout)
        with_server = served(model, *size)
    per_token = 1e6 / (chosen.streams * chosen.tokens)
    engine_us, served_us = (statistics.median(runs) * per_token for runs in (alone, with_server))
    result = {
        "streams": chosen.streams,
        "tokens": chosen.tokens,
        "runs": chosen.runs,
        "engine_us_per_token": round(engine_us, 1),
        "served_us_per_token": round(served_us, 1),
        "server_us_per_token": round(served_us - engine_us, 1),
        "one_core": pinned,
        "python": platform.python_version(),
    }
    sys.stdout.write(json.dumps(result) + "\n")


if __name__ == "__main__":
    main()
