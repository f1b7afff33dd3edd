"""The engine's thread dies under a real server: who is told what, and what happens then, as the setting says."""

import json
import os
import sys
import threading
from pathlib import Path
from textwrap import dedent

import anthropic
import httpx
import openai
import pytest
from msgspec import Struct

from mlxp_core import hookimpl
from mlxp_core.contracts import SamplerStage

PATIENCE_S = 30
CHAT = "/v1/chat/completions"
HELLO = [{"role": "user", "content": "Hello"}]
LONG = 300  # tokens; nobody ends before the engine does


class Turn(Struct, frozen=True):
    """Settings of the stage: none."""


class Turnstile:
    """A plugin whose stage lets the batch draw once for each permit; once ``doomed``, it ends the thread."""

    def __init__(self):
        self._permits = threading.Semaphore(0)
        self.waiting = threading.Event()
        self.doomed = False

    @hookimpl
    def mlxp_sampler_stages(self):
        return [SamplerStage(name="turnstile", order=450, params=Turn, build=lambda _: self._pass)]

    def _pass(self, logits):
        self.waiting.set()
        assert self._permits.acquire(timeout=PATIENCE_S), "nobody let it pass"
        if self.doomed:
            raise SystemExit("the ground opened")
        return logits

    def let(self):
        """Let the batch draw once, and wait until it wants to again."""
        assert self.waiting.wait(PATIENCE_S)
        self.waiting.clear()
        self._permits.release()

    def end(self):
        self.doomed = True
        self._permits.release()


class Visitor:
    """A client that reads an answer to its end, on a thread of its own."""

    def __init__(self, url, path, body):
        self.begun = threading.Event()
        self.text = ""
        self._thread = threading.Thread(target=self._visit, args=(f"{url}{path}", body))
        self._thread.start()

    def _visit(self, url, body):
        with httpx.stream("POST", url, json=body, timeout=PATIENCE_S) as answer:
            self.status = answer.status_code
            for piece in answer.iter_text():
                self.begun.set()
                self.text += piece

    def join(self):
        self._thread.join(PATIENCE_S)
        assert not self._thread.is_alive()
        return self

    @property
    def last(self):
        """Return the last event's data."""
        return json.loads(self.text.strip().splitlines()[-1].removeprefix("data: "))


def bodies(stream):
    """Return a long request of each surface, by path."""
    usual = {"model": "", "stream": stream, "temperature": 0, "max_tokens": LONG}
    return {
        CHAT: {**usual, "messages": HELLO, "ignore_eos": True},
        "/v1/completions": {**usual, "prompt": "Hello"},
        "/v1/messages": {**usual, "messages": HELLO},
        "/v1/responses": {
            "model": "",
            "stream": stream,
            "temperature": 0,
            "input": "Hello",
            "max_output_tokens": LONG,
        },
    }


def fault_of(path, visitor):
    """Return (type or code, message) of what a client of this surface was told last."""
    told = visitor.last
    match path:
        case "/v1/responses" if told.get("type") == "response.failed":
            return told["response"]["error"]["code"], told["response"]["error"]["message"]
        case "/v1/messages":
            assert told["type"] == "error"
    return told["error"]["type"], told["error"]["message"]


KINDS = {
    CHAT: "server_error",
    "/v1/completions": "server_error",
    "/v1/messages": "api_error",
    "/v1/responses": "server_error",
}


def kill(served, turnstile):
    """Have the engine die in the middle of answers of every surface; return the visitors, by path and stream."""
    body = {
        "messages": HELLO,
        "max_tokens": LONG,
        "temperature": 0,
        "stream": True,
        "sampler_stages": {"turnstile": {}},
    }
    asked = {("", True): (CHAT, body)}
    for stream in (True, False):
        asked |= {(path, stream): (path, long) for path, long in bodies(stream).items()}
    visitors = {}
    for inside, ((name, stream), (path, sent)) in enumerate(asked.items(), 1):
        visitors[name, stream] = Visitor(served.url, path, sent)
        until(lambda inside=inside: served.engine._mail.load == inside)
        while served.engine.stats().running < inside:
            turnstile.let()
        assert not stream or visitors[name, stream].begun.wait(PATIENCE_S)
    turnstile.end()
    return {key: visitor.join() for key, visitor in visitors.items()}


def until(true):
    deadline = threading.Event()
    timer = threading.Timer(PATIENCE_S, deadline.set)
    timer.start()
    while not true():
        assert not deadline.is_set(), "it never became so"
    timer.cancel()
    timer.join()


def flags(policy):
    return {"engine": {"on_death": policy, "batch": 9, "prompt_cache_bytes": 0}}


@pytest.mark.parametrize("policy", ["stay", "restart"])
def test_whoever_was_being_answered_is_told_in_the_shape_of_their_surface(live, sketch, policy):
    turnstile = Turnstile()
    with live(sketch, plugins=[("turnstile", turnstile)], flags=flags(policy)) as served:
        alone = served.client.post(CHAT, json={"messages": HELLO, "max_tokens": 8, "seed": 1}).json()
        before = served.client.get("/stats").json()["admission"]["active_bytes"]
        visitors = kill(served, turnstile)
        for (path, stream), visitor in visitors.items():
            kind, message = fault_of(path, visitor)
            assert kind == KINDS.get(path, "server_error")
            assert "SystemExit: the ground opened" in message
            assert visitor.status == (200 if stream else 503)
            assert "[DONE]" not in visitor.text
            assert "message_stop" not in visitor.text
        assert not served.call(lambda: served.desk._house._entries)
        if policy == "stay":
            _stays_lost(served)
        else:
            _serves_again(served, alone, before)


def _stays_lost(served):
    health = served.client.get("/health")
    assert (health.status_code, health.json()["status"]) == (503, "lost")
    assert "the ground opened" in health.json()["fault"]
    assert served.client.get("/livez").status_code == 200
    for path, body in bodies(stream=True).items():
        assert served.client.post(path, json=body).status_code == 503


def _serves_again(served, alone, held_bytes):
    until(lambda: served.client.get("/health").status_code == 200)
    late = served.client.post(CHAT, json={"messages": HELLO, "max_tokens": 8, "seed": 1}).json()
    assert late["choices"] == alone["choices"]
    stats = served.client.get("/stats").json()
    assert (stats["server"]["state"], stats["server"]["fault"], stats["server"]["restarts"]) == (
        "ready",
        None,
        1,
    )
    assert (stats["totals"]["failed"], stats["totals"]["finished"]) == (9, 2)
    assert stats["admission"]["active_bytes"] <= held_bytes, "what the dead thread had is freed"


def test_official_clients_get_over_it_by_themselves(live, sketch):
    """Their own retries find the engine that has begun again."""
    turnstile = Turnstile()
    with live(sketch, plugins=[("turnstile", turnstile)], flags=flags("restart")) as served:
        answers = []

        def ask_openai():
            client = openai.OpenAI(base_url=f"{served.url}/v1", api_key="none", max_retries=8)
            with client:
                answers.append(
                    client.chat.completions.create(model="", messages=HELLO, max_tokens=LONG).choices[0]
                )

        def ask_anthropic():
            with anthropic.Anthropic(base_url=served.url, api_key="none", max_retries=8) as client:
                answers.append(client.messages.create(model="x", messages=HELLO, max_tokens=LONG).content)

        held = Visitor(
            served.url, CHAT, {"messages": HELLO, "sampler_stages": {"turnstile": {}}, "stream": True}
        )
        assert turnstile.waiting.wait(PATIENCE_S)
        asking = [threading.Thread(target=ask) for ask in (ask_openai, ask_anthropic)]
        for thread in asking:
            thread.start()
        until(lambda: served.engine._mail.load == 3)
        turnstile.end()
        held.join()
        for thread in asking:
            thread.join(PATIENCE_S)
        assert len(answers) == 2
        assert served.engine.stats().restarts == 1


DOOM = """
    from msgspec import Struct
    from mlxp_core import hookimpl
    from mlxp_core.contracts import SamplerStage

    class Params(Struct, frozen=True):
        pass

    def build(settings):
        raise SystemExit("the ground opened")

    @hookimpl
    def mlxp_sampler_stages():
        return [SamplerStage(name="doom", order=450, params=Params, build=build)]
"""


@pytest.fixture
def doomed(tmp_path, monkeypatch):
    """A plugin, installed for the processes of this test, whose stage ends the engine's thread."""
    site = tmp_path / "site"
    info = site / "doom-1.0.dist-info"
    info.mkdir(parents=True)
    (site / "doom_plugin.py").write_text(dedent(DOOM))
    (info / "METADATA").write_text(
        "Metadata-Version: 2.3\nName: doom\nVersion: 1.0\nRequires-Dist: mlxp-core>=0.1,<0.2\n"
    )
    (info / "entry_points.txt").write_text("[mlxp]\ndoom = doom_plugin\n")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(site), *filter(None, sys.path)]))
    return Path(site)


def test_the_process_ends_where_it_is_to(process, doomed, sketch):
    running = process(sketch, "--on-engine-death", "exit")
    with httpx.Client(base_url=running.url, timeout=PATIENCE_S) as client:
        told = client.post(CHAT, json={"messages": HELLO, "sampler_stages": {"doom": {}}})
    assert told.status_code == 503
    assert "the server ends" in told.json()["error"]["message"]
    running.process.wait_for("mlxp: SystemExit: the ground opened")
    assert running.process.wait() == 1


def test_the_process_goes_on_where_it_is_to(process, doomed, sketch):
    running = process(sketch, "--on-engine-death", "restart")
    with httpx.Client(base_url=running.url, timeout=PATIENCE_S) as client:
        for restarts in (1, 2):
            told = client.post(CHAT, json={"messages": HELLO, "sampler_stages": {"doom": {}}})
            assert told.status_code == 503
            until(lambda: client.get("/health").status_code == 200)
            assert client.get("/stats").json()["server"]["restarts"] == restarts
            assert client.post(CHAT, json={"messages": HELLO, "max_tokens": 4}).status_code == 200
