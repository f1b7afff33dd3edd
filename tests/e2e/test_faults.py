"""Strangers' plugins that fail: one request pays, or, where the engine is gone, everybody is told at once."""

import json
import threading

import httpx
import mlx.core as mx
import pytest
from mlx import nn
from msgspec import Struct
from msgspec.structs import replace

from mlxp_core import hookimpl
from mlxp_core.contracts import CallArguments, CallName, ModelFamily, SamplerStage, ToolFormat
from mlxp_core.errors import UnsupportedModel
from mlxp_core.loading.sketch import sketch_config, write_sketch
from mlxp_core.types import Need
from mlxp_minicpm5 import plugin as minicpm5
from mlxp_protocols.native import plugin as native
from mlxp_protocols.openai_chat import plugin as openai_chat

PATIENCE_S = 20
CHAT = "/v1/chat/completions"
WIDTH = 8


class Gate:
    """Lets a network pass some times, then holds it until it is told how to go on."""

    def __init__(self, passes):
        self._passes = passes
        self._open = threading.Event()
        self._end = None
        self.reached = threading.Event()

    def enter(self):
        self._passes -= 1
        if self._passes < 0:
            self.reached.set()
            assert self._open.wait(PATIENCE_S), "nobody opened the gate"
            if self._end is not None:
                raise self._end

    def open(self, end=None):
        self._end = end
        self._open.set()


class Doom(BaseException):
    """What no ``except Exception`` catches."""


class Fragile(nn.Module):
    """Predicts each token from the one before it, and passes the gate in every pass."""

    def __init__(self, gate, vocabulary):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, WIDTH)
        self.head = nn.Linear(WIDTH, vocabulary, bias=False)
        self._enter = gate.enter

    def __call__(self, inputs, caches):
        self._enter()
        return self.embed(inputs.tokens)

    def embed(self, tokens):
        return self.embedding(tokens)

    def logits(self, hidden):
        return self.head(hidden)

    def make_caches(self, policy):
        return []


def config_of(raw):
    if "vocab_size" not in raw:
        raise UnsupportedModel("fragile: config.json has no vocab_size")
    return raw["vocab_size"]


class Stranger:
    """Brings the family ``fragile``, whose networks pass one gate."""

    def __init__(self, gate):
        self._gate = gate

    @hookimpl
    def mlxp_model_families(self):
        return [
            ModelFamily(
                name="fragile",
                model_types=("fragile",),
                config=config_of,
                build=lambda vocabulary: Fragile(self._gate, vocabulary),
                rename=lambda name: name,
                need=lambda *_: Need(),
            )
        ]


@pytest.fixture(scope="module")
def fragile(tmp_path_factory):
    """A model folder of that family."""
    config = {**sketch_config(), "model_type": "fragile"}
    rows = config["vocab_size"]
    return write_sketch(
        tmp_path_factory.mktemp("models") / "fragile",
        config=config,
        shapes={"embedding.weight": (rows, WIDTH), "head.weight": (rows, WIDTH)},
    )


def body(**more):
    return {"messages": [{"role": "user", "content": "Hello"}], "max_tokens": 12, "temperature": 0, **more}


def until(true):
    """Look until something is so; ``true`` asks the server, which takes its time."""
    done = threading.Event()
    timer = threading.Timer(PATIENCE_S, done.set)
    timer.start()
    while not true():
        assert not done.is_set(), "it never became so"
    timer.cancel()
    timer.join()


class Visitor:
    """A client on a thread of its own."""

    def __init__(self, url, **asked):
        self._thread = threading.Thread(target=self._visit, args=(url, asked))
        self._thread.start()

    def _visit(self, url, asked):
        self.answer = httpx.post(f"{url}{CHAT}", json=body(**asked), timeout=PATIENCE_S)

    def join(self):
        self._thread.join(PATIENCE_S)
        return self.answer


def test_when_the_engine_dies_everybody_is_told_at_once(live, fragile):
    gate = Gate(passes=3)
    with live(fragile, plugins=[("stranger", Stranger(gate))], flags={"engine": {"batch": 1}}) as served:
        speaking = Visitor(served.url, stream=True)
        assert gate.reached.wait(PATIENCE_S)
        waiting = [Visitor(served.url, stream=number % 2 == 0) for number in range(5)]
        until(lambda: served.engine._mail.load == 6)
        gate.open(Doom("the ground opened"))
        begun = speaking.join()
        refused = [visitor.join() for visitor in waiting]
        health = served.client.get("/health")
        late = served.client.post(CHAT, json=body())
        alive = served.client.get("/livez")
    assert begun.status_code == 200
    assert "[DONE]" not in begun.text
    last = json.loads(begun.text.strip().splitlines()[-1].removeprefix("data: "))
    assert "the ground opened" in last["error"]["message"]
    for answer in [*refused, late, health]:
        assert answer.status_code == 503
    for answer in [*refused, late]:
        assert answer.json()["error"]["code"] == "unavailable"
    assert health.json()["status"] == "lost"
    assert "the ground opened" in health.json()["fault"]
    assert alive.status_code == 200
    assert not served.desk._house._entries


def test_a_network_that_fails_once_fails_who_was_in_it(live, fragile, official, chat):
    gate = Gate(passes=3)
    with live(fragile, plugins=[("stranger", Stranger(gate))], flags={"engine": {"batch": 1}}) as served:
        unlucky = Visitor(served.url)
        assert gate.reached.wait(PATIENCE_S)
        waiting = Visitor(served.url)
        until(lambda: served.engine._mail.load == 2)
        gate.open(ValueError("a slip"))
        gate._end = None if unlucky.join() else gate._end
        answers = [unlucky.answer, waiting.join()]
        assert chat(official(served.url), stream=False).only.reason == "length"
    assert answers[0].status_code == 500
    assert answers[0].json()["error"]["code"] == "engine_fault"
    assert "a slip" in answers[0].json()["error"]["message"]


class Fuse(Struct, frozen=True):
    """Settings of a stage that blows from its ``at``-th use on; at 0, when its map is made."""

    at: int


class Electrician:
    """Brings that stage."""

    def __init__(self):
        self._uses = 0

    @hookimpl
    def mlxp_sampler_stages(self):
        return [SamplerStage(name="fuse", order=450, params=Fuse, build=self._build)]

    def _build(self, settings):
        lasts = min(row.at for row in settings)
        if not lasts:
            raise ValueError("the fuse blew at once")

        def burn(logits):
            self._uses += 1
            if self._uses >= lasts:
                raise ValueError("the fuse blew")
            return mx.array(logits)

        return burn


@pytest.mark.parametrize("at", [0, 1, 5])
@pytest.mark.parametrize("stream", [False, True])
def test_a_stage_that_fails_fails_its_request_alone(live, sketch, at, stream):
    def told(answer):
        return answer.json()["choices"][0]["message"]

    with live(sketch, plugins=[("electrician", Electrician())]) as served:
        alone = told(served.client.post(CHAT, json=body(max_tokens=60)))
        neighbours = [Visitor(served.url, max_tokens=60) for _ in range(3)]
        failed = served.client.post(CHAT, json=body(sampler_stages={"fuse": {"at": at}}, stream=stream))
        assert [told(visitor.join()) for visitor in neighbours] == [alone] * 3
        assert told(served.client.post(CHAT, json=body(max_tokens=60))) == alone
        stats = served.client.get("/stats").json()
        until(lambda: served.client.get("/stats").json()["admission"]["cache_bytes"] == 0)
    assert "the fuse blew" in failed.text
    assert failed.status_code == (200 if stream else 500)
    assert (stats["totals"]["failed"], stats["totals"]["finished"]) == (1, 5)


KEEPS = ("</function>", "<param", "</param>")


class Parser:
    """Breaks its promise never to raise, after it has named a call."""

    rest = None

    def feed(self, text):
        if "weather" in text:
            yield CallName("weather")
            yield CallArguments('{"city": "')
            raise RuntimeError("the parser tripped")

    def finish(self, *, cut):
        raise RuntimeError("the parser tripped at the end")


@pytest.fixture(scope="module")
def talker(puppets, tmp_path_factory):
    """The folder of a model that calls a tool, and the call as it writes it."""
    folder = tmp_path_factory.mktemp("puppets") / "talker"
    markup = '<function name="weather"><param name="city">Nice</param></function>'
    puppets.make("minicpm5", [puppets.Words("Let me see. "), puppets.Cut(markup, 5), " Done."], folder)
    return folder, markup


class Clumsy:
    """Brings the family of puppets once more, with a format whose parser raises."""

    @hookimpl
    def mlxp_model_families(self):
        family = next(iter(minicpm5.mlxp_model_families()))
        return [replace(family, tool_format="clumsy")]

    @hookimpl
    def mlxp_tool_formats(self):
        return [ToolFormat(name="clumsy", openers=("<function",), keeps=KEEPS, parser=lambda _: Parser())]

    mlxp_thinking_formats = staticmethod(minicpm5.mlxp_thinking_formats)


@pytest.mark.parametrize("stream", [False, True])
def test_a_parser_that_fails_gives_the_text_back(live, talker, official, chat, stream):
    folder, markup = talker
    plugins = [("clumsy", Clumsy()), ("openai-chat", openai_chat), ("native", native)]
    tool = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}
    with live(folder, plugins=plugins, path=()) as served:
        for _ in range(2):
            answer = chat(official(served.url), stream=stream, tools=[tool], max_tokens=200).only
            assert answer.text == f"Let me see. {markup} Done."
            assert answer.reason == "stop"
            assert any("the parser tripped" in warning for warning in answer.warnings)


class Rot:
    """Brings a stage whose arrays cannot be computed; that shows when they are, some time later."""

    @hookimpl
    def mlxp_sampler_stages(self):
        return [SamplerStage(name="rot", order=450, params=Fuse, build=self._build)]

    def _build(self, settings):
        singular = mx.zeros((3, 3))
        return lambda logits: logits + mx.linalg.inv(singular, stream=mx.cpu)[0, 0]


@pytest.mark.parametrize("stream", [False, True])
def test_an_array_that_cannot_be_computed_fails_its_step_and_nothing_after_it(live, sketch, stream):
    def told(answer):
        return answer.json()["choices"][0]["message"]

    rotten = {"sampler_stages": {"rot": {"at": 0}}}
    with live(sketch, plugins=[("rot", Rot())]) as served:
        alone = told(served.client.post(CHAT, json=body(max_tokens=60)))
        for _ in range(3):
            neighbours = [Visitor(served.url, max_tokens=60) for _ in range(2)]
            failed = served.client.post(CHAT, json=body(**rotten, stream=stream))
            assert "engine_fault" in failed.text
            assert "may be sent again" in failed.text
            for visitor in neighbours:  # in the same step, or not
                answer = visitor.join()
                assert answer.status_code == 500 or told(answer) == alone
            assert told(served.client.post(CHAT, json=body(max_tokens=60))) == alone
        until(lambda: served.client.get("/stats").json()["admission"]["cache_bytes"] == 0)
        assert served.client.get("/health").status_code == 200
