"""mlxp beside another server, on the same checkpoint, in one run.

    python benchmarks/bench_peers.py [MODEL] [--rounds 3] [--peer COMMAND]

Rounds go to and fro (ours, theirs, theirs, ours), so that what else the machine does falls on both. Every number is the
median of its rounds; `ratio` is ours by theirs, the better way round said by the name. The prompts of `cold` are new
each time; `warm` repeats the one before; `trace` is a conversation of ten turns that grows. Without MODEL, a Llama of
30 million random parameters in float32 is written for it. `--peer` is a command with {model} and {port} in it.
"""

import argparse
import concurrent.futures
import json
import os
import random
import shlex
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import psutil

from mlxp_core.loading.sketch import sketch_config, write_sketch

OURS = f"{sys.executable} -m mlxp_core serve {{model}} --port {{port}}"
THEIRS = f"{sys.executable} -m mlx_lm server --model {{model}} --port {{port}} --log-level WARNING"
PATIENCE_S = 120
LONG, SHORT, ANSWER, STREAMS, TURNS = 96, 6, 64, 8, 10
"""Words of a long and a short prompt, tokens of an answer, answers at once, turns of the conversation."""

MIDDLE = {
    "hidden_size": 512,
    "intermediate_size": 1536,
    "num_hidden_layers": 8,
    "num_attention_heads": 8,
    "num_key_value_heads": 4,
    "head_dim": 64,
    "vocab_size": 4096,
    "max_position_embeddings": 32768,
}

Numbers = dict[str, float]


def free_port() -> int:
    """Return a port that nobody uses now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Server:
    """A server under test: its process and a client of it."""

    def __init__(self, command: str, model: Path, seed: int) -> None:
        """Start it."""
        port = free_port()
        filled = shlex.split(command.format(model=model, port=port))
        self.began = time.perf_counter()
        self.process = psutil.Popen(filled, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.client = httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=PATIENCE_S)
        self.draw = random.Random(seed)
        self.model = str(model)

    def wait(self) -> float:
        """Return seconds from the start to the first good answer."""
        while True:
            with suppress(httpx.TransportError):
                if self.client.get("/health").is_success and self.ask("hello", tokens=1):
                    return time.perf_counter() - self.began
            if time.perf_counter() - self.began > PATIENCE_S or self.process.poll() is not None:
                raise SystemExit(f"{self.process.args}: no answer")
            time.sleep(0.005)

    def words(self, count: int) -> str:
        """Return a text that was never sent before."""
        return " ".join(f"{self.draw.randrange(10**6):06d}" for _ in range(count))

    def ask(self, text: str, *, tokens: int) -> list[float]:
        """Return the times of an answer's pieces, in seconds from its sending; raises where it is refused."""
        return self.converse([{"role": "user", "content": text}], tokens=tokens)[0]

    def converse(self, messages: list[dict[str, str]], *, tokens: int) -> tuple[list[float], str]:
        """Return the times of an answer's pieces, and the answer."""
        body = {
            "model": self.model,
            "messages": messages,
            "max_tokens": tokens,
            "temperature": 0,
            "stream": True,
            "chat_template_kwargs": {"enable_thinking": False},
        }
        begin, times, said = time.perf_counter(), [], []
        with self.client.stream("POST", "/v1/chat/completions", json=body) as answer:
            answer.raise_for_status()
            for line in answer.iter_lines():
                if line.startswith("data: {") and (choices := json.loads(line[6:]).get("choices")):
                    delta = choices[0].get("delta", {})
                    text = delta.get("content") or delta.get("reasoning") or delta.get("reasoning_content")
                    if text:
                        times.append(time.perf_counter() - begin)
                        said.append(text)
        return times, "".join(said)

    def processor_s(self) -> float:
        """Return the processor time that it has used."""
        used = self.process.cpu_times()
        return used.user + used.system


@contextmanager
def running(command: str, model: Path, seed: int) -> Iterator[Server]:
    """Run a server for as long as the block lasts."""
    server = Server(command, model, seed)
    try:
        yield server
    finally:
        server.process.kill()
        server.process.wait()
        server.client.close()


def measured(command: str, model: Path, seed: int) -> Numbers:
    """Return one round's numbers of one server."""
    with running(command, model, seed) as server:
        numbers = {"ready, s": server.wait()}
        server.ask(server.words(LONG), tokens=2)  # what is compiled on first use
        long = server.words(LONG)
        numbers["first token, long and cold, s"] = server.ask(long, tokens=2)[0]
        numbers["first token, long and warm, s"] = server.ask(long, tokens=2)[0]
        numbers["first token, short, s"] = server.ask(server.words(SHORT), tokens=2)[0]
        before = server.processor_s()
        times = server.ask(server.words(SHORT), tokens=ANSWER)
        numbers["one stream, pieces/s"] = (len(times) - 1) / (times[-1] - times[0])
        numbers["processor time, ms a piece"] = (server.processor_s() - before) / len(times) * 1e3
        numbers[f"{STREAMS} streams, pieces/s"] = together(server)
        numbers["trace, s"] = trace(server)
    return numbers


def together(server: Server) -> float:
    """Return how many pieces a second come when several ask at once."""
    prompts = [server.words(SHORT) for _ in range(STREAMS)]
    begin = time.perf_counter()
    with concurrent.futures.ThreadPoolExecutor(STREAMS) as pool:
        answers = list(pool.map(lambda text: server.ask(text, tokens=ANSWER), prompts))
    return sum(map(len, answers)) / (time.perf_counter() - begin)


def trace(server: Server) -> float:
    """Return seconds of a conversation in which every turn brings a tool's output."""
    messages = [{"role": "system", "content": server.words(LONG)}]
    begin = time.perf_counter()
    for _ in range(TURNS):
        messages.append({"role": "user", "content": server.words(LONG // 8)})
        messages.append({"role": "assistant", "content": server.converse(messages, tokens=16)[1] or "."})
    return time.perf_counter() - begin


def table(ours: list[Numbers], theirs: list[Numbers]) -> str:
    """Return the medians side by side, as Markdown."""
    lines = ["| what | mlxp | peer | ratio |", "|---|---|---|---|"]
    for name in ours[0]:
        mine, other = (statistics.median(each[name] for each in rounds) for rounds in (ours, theirs))
        lines.append(f"| {name} | {mine:.3g} | {other:.3g} | {mine / other:.2f} |")
    return "\n".join(lines)


def main() -> None:
    """Measure and print."""
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("model", nargs="?", type=Path)
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--peer", default=THEIRS)
    chosen = arguments.parse_args()
    results: dict[str, list[Numbers]] = {OURS: [], chosen.peer: []}
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_CONFIG_HOME"] = folder  # nobody's settings
        config: dict[str, Any] = {**sketch_config(), **MIDDLE}
        model = chosen.model or write_sketch(Path(folder) / "llama", config=config)
        for number in range(chosen.rounds):
            for command in (OURS, chosen.peer) if number % 2 == 0 else (chosen.peer, OURS):
                results[command].append(measured(command, model, number))
    busy = psutil.getloadavg()[1]
    sys.stdout.write(f"{model.name}, {chosen.rounds} rounds, load {busy:.1f} on {os.cpu_count()} cores\n\n")
    sys.stdout.write(table(results[OURS], results[chosen.peer]) + "\n")


if __name__ == "__main__":
    main()
