"""Real parts only: a server with real weights in this process or one of its own, and the official client to ask it."""

import os
import queue
import re
import subprocess
import sys
import threading
from contextlib import contextmanager
from types import SimpleNamespace

import openai
import pytest

from mlxp_core.loading.sketch import write_sketch
from mlxp_core.testing.live import serve_folders

PATIENCE_S = 60
FLOAT32 = {"engine": {"dtype": "float32"}}
"""So that a row computes the same numbers whatever device and neighbours it has."""


def user(text):
    return [{"role": "user", "content": text}]


@pytest.fixture(scope="session")
def sketch(tmp_path_factory):
    """The folder of the project's own random model."""
    return write_sketch(tmp_path_factory.mktemp("models") / "sketch")


@pytest.fixture(scope="session")
def tiny(tiny_checkpoints):
    """The folder of a random model with a real tokenizer and a real template."""
    return tiny_checkpoints / "minicpm5"


@pytest.fixture(scope="session", params=["sketch", "tiny"])
def model(request):
    """The folders of models that can be served: one that is always there, one with real files."""
    return request.getfixturevalue(request.param)


@pytest.fixture(scope="session")
def live():
    """Serve folders in this process."""

    @contextmanager
    def begin(*folders, flags=None, **more):
        merged = {**FLOAT32, **(flags or {})}
        merged["engine"] = {**FLOAT32["engine"], **merged["engine"]}
        with serve_folders(*folders, flags=merged, **more) as served:
            yield served

    return begin


@pytest.fixture(scope="session")
def official():
    """Make official clients of a server, which never retry."""
    clients = []

    def make(url, **more):
        client = openai.OpenAI(
            base_url=f"{url}/v1", api_key="none", max_retries=0, timeout=PATIENCE_S, **more
        )
        clients.append(client)
        return client

    yield make
    for client in clients:
        client.close()


@pytest.fixture(scope="session")
def served(live, model):
    """A server of each of the models, for all tests that leave it as they found it."""
    with live(model) as running:
        yield running


@pytest.fixture(scope="session")
def client(served, official):
    """The official client of that server."""
    return official(served.url)


class Process:
    """``mlxp serve`` as a process of its own; what it prints is read as it comes."""

    def __init__(self, folder, *arguments):
        self._process = subprocess.Popen(
            [
                *(sys.executable, "-c", "from mlxp_core.cli.main import run; run()", "serve", str(folder)),
                *("--port", "0", "--dtype", "float32", *arguments),
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )
        self._lines = queue.Queue()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self):
        for line in self._process.stdout:
            self._lines.put(line.strip())

    def wait_for(self, pattern):
        """Return the match in the first line that has one."""
        while not (found := re.search(pattern, self._lines.get(timeout=PATIENCE_S))):
            pass
        return found

    @property
    def pid(self):
        return self._process.pid

    def signal(self, number):
        self._process.send_signal(number)

    def wait(self):
        """Wait for its end, and return the exit status."""
        return self._process.wait(PATIENCE_S)

    def end(self):
        self._process.kill()
        self._process.wait()
        self._reader.join()
        self._process.stdout.close()


@pytest.fixture
def process(tmp_path, monkeypatch):
    """Start ``mlxp serve``; settings and cache of whoever runs the tests are out of reach."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    started = []

    def start(folder, *arguments):
        running = Process(folder, *arguments)
        started.append(running)
        url = running.wait_for(r"serves .+ at (\S+)")[1]
        running.wait_for("ready after")
        return SimpleNamespace(process=running, url=url)

    yield start
    for running in started:
        running.end()


@pytest.fixture(scope="session")
def chat():
    """Ask for a conversation's next message, and return what the client has at the end."""
    return Chat


class Chat:
    """An answer as the official client has it, streamed or not: the same attributes for both."""

    def __init__(self, client, *, stream, **asked):
        asked = {"model": "", "messages": user("Hello"), "temperature": 0, "max_tokens": 8, **asked}
        self.usage, self.choices = None, {}
        if stream:
            chunks = client.chat.completions.create(
                stream=True, stream_options={"include_usage": True}, **asked
            )
            for chunk in chunks:
                self._take(chunk)
        else:
            answer = client.chat.completions.create(**asked)
            self.usage = answer.usage
            self.choices = {choice.index: _choice(choice, choice.message) for choice in answer.choices}

    def _take(self, chunk):
        self.usage = chunk.usage or self.usage
        for piece in chunk.choices:
            own = self.choices.setdefault(
                piece.index,
                SimpleNamespace(text="", thinking="", calls=[], scores=[], reason=None, warnings=[]),
            )
            new = _choice(piece, piece.delta)
            own.text += new.text
            own.thinking += new.thinking
            own.scores += new.scores
            own.reason = own.reason or new.reason
            own.warnings += new.warnings
            for call in piece.delta.tool_calls or []:
                if call.id:
                    own.calls.append([call.id, call.function.name, ""])
                own.calls[call.index][2] += call.function.arguments or ""

    @property
    def only(self):
        (choice,) = self.choices.values()
        return choice

    def told(self):
        """Return all that two equal answers share; what came from the prompt cache may differ."""
        return [
            (index, own.text, own.thinking, [call[1:] for call in own.calls], own.reason)
            for index, own in sorted(self.choices.items())
        ], self.usage.model_dump(exclude={"prompt_tokens_details"})


def _choice(piece, said):
    scores = piece.logprobs.content if piece.logprobs and piece.logprobs.content else []
    extra = (piece.model_extra or {}).get("mlxp") or {}
    calls = [] if said.tool_calls is None else said.tool_calls
    return SimpleNamespace(
        text=said.content or "",
        thinking=(said.model_extra or {}).get("reasoning_content") or "",
        calls=[[call.id, call.function and call.function.name, call.function.arguments] for call in calls],
        scores=[
            (
                score.token,
                score.logprob,
                [(top.token, top.logprob) for top in score.top_logprobs],
                score.bytes,
            )
            for score in scores
        ],
        reason=piece.finish_reason,
        warnings=list(extra.get("warnings", [])),
    )
