"""What the server does for each token: `python benchmarks/bench_server.py`; prints JSON.

    python benchmarks/bench_server.py [--streams 8] [--tokens 400] [--runs 30]

A server of its own process on one core has everything that users get but the arrays: an engine that plays tokens
stands in for them, all streams' in one turn, as a batch's come. Its clients read from another core. Counted is the
processor time of the server: reading tokens, events, encoding, HTTP. On one core that is the time of the wall, without
what other processes took of it.
"""

import argparse
import asyncio
import itertools
import json
import os
import platform
import re
import statistics
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import psutil

from mlxp_core.engine import Order
from mlxp_core.testing.client import serve
from mlxp_protocols.openai_chat.plugin import mlxp_protocols

TEXT = "The quick brown fox jumps over the lazy dog. "
FIRST_BYTE = 32
"""Of the sketch's tokenizer: the token of byte 0."""


def pin(core: int) -> bool:
    """Keep this process on one core, where the system can; say whether it is there."""
    if not hasattr(os, "sched_setaffinity"):
        return False
    os.sched_setaffinity(0, {core % (os.cpu_count() or 1)})
    return True


def be_the_server() -> None:
    """Serve until standard input ends; say the port first."""
    pin(0)
    tokens = [FIRST_BYTE + byte for byte in TEXT.encode()]

    def script(_: Order) -> Iterator[int]:
        return itertools.cycle(tokens)

    with serve(mlxp_protocols(), script) as served:
        sys.stdout.write(f"{served.url.rsplit(':', 1)[1]}\n")
        sys.stdout.flush()
        sys.stdin.read()


@contextmanager
def server() -> Iterator[tuple[psutil.Process, int]]:
    """Run it in a process of its own; yields that and the port."""
    command = [sys.executable, __file__, "--be-the-server"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield psutil.Process(process.pid), int(process.stdout.readline())


async def read_stream(port: int, tokens: int) -> int:
    """Ask for one stream, read it to its end, and return how many chunks it came in."""
    asked = {
        "messages": [{"role": "user", "content": "Hello"}],
        "max_tokens": tokens,
        "stream": True,
    }
    body = json.dumps(asked)
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n"
    writer.write(f"{head}Connection: close\r\n\r\n{body}".encode())
    said = await reader.read()
    writer.close()
    if b"[DONE]" not in said:
        raise SystemExit(f"a stream broke: {said[-300:]!r}")
    return len(re.findall(rb"\r\n[0-9a-f]+\r\ndata:", said))


async def read_streams(port: int, streams: int, tokens: int) -> int:
    """Read some at once, and return how many chunks they came in."""
    return sum(await asyncio.gather(*(read_stream(port, tokens) for _ in range(streams))))


def measured(streams: int, tokens: int, runs: int) -> tuple[float, float]:
    """Return the processor seconds of all runs, and the chunks that the answers of one came in."""
    with server() as (process, port):
        asyncio.run(read_streams(port, streams, tokens))  # the first one warms up
        before = process.cpu_times()
        chunks = [asyncio.run(read_streams(port, streams, tokens)) for _ in range(runs)]
        after = process.cpu_times()
    return after.user + after.system - before.user - before.system, statistics.mean(chunks)


def main() -> None:
    """Measure and print."""
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("--streams", type=int, default=8)
    arguments.add_argument("--tokens", type=int, default=400)
    arguments.add_argument("--runs", type=int, default=30)
    arguments.add_argument("--be-the-server", action="store_true", help=argparse.SUPPRESS)
    chosen = arguments.parse_args()
    if chosen.be_the_server:
        be_the_server()
        return
    pinned = pin(1)
    took, chunks = measured(chosen.streams, chosen.tokens, chosen.runs)
    answered = chosen.streams * chosen.tokens
    result = {
        "streams": chosen.streams,
        "tokens": chosen.tokens,
        "runs": chosen.runs,
        "us_per_token": round(took / chosen.runs / answered * 1e6, 1),
        "tokens_per_chunk": round(answered / chunks, 2),
        "one_core": pinned,
        "python": platform.python_version(),
    }
    sys.stdout.write(json.dumps(result) + "\n")


if __name__ == "__main__":
    main()
