"""Several models with adapters behind one real server, a plugin that fails when it is asked to, and questions."""

import json
import random

import mlx.core as mx
import pytest
from msgspec import Struct

from mlxp_core import hookimpl
from mlxp_core.contracts import SamplerStage
from mlxp_core.loading.sketch import sketch_config, write_sketch
from mlxp_core.testing.live import serve_folders

RANK = 4
ENGINE = {"dtype": "float32", "prefill_chunk": 64, "on_death": "restart"}
PROTOCOLS = ("/v1/chat/completions", "/v1/completions", "/v1/messages", "/v1/responses")
WORDS = "hello what do you know of rivers and trains in the north please tell me more".split()  # noqa: SIM905  # one line


class Failing(Struct, frozen=True):
    """Settings of the stage ``fail``: ``row`` raises, ``step`` cannot be computed, ``engine`` ends the thread."""

    how: str


class Saboteur:
    """Brings that stage."""

    @hookimpl
    def mlxp_sampler_stages(self):
        return [SamplerStage(name="fail", order=450, params=Failing, build=self._build)]

    def _build(self, settings):
        ways = {row.how for row in settings}

        def fail(logits):
            if "engine" in ways:
                raise SystemExit("the ground opened")
            if "row" in ways:
                raise ValueError("a row slipped")
            return logits + mx.linalg.inv(mx.zeros((3, 3)), stream=mx.cpu)[0, 0]

        return fail


class Question:
    """A request that has one answer, whoever else is in the house."""

    def __init__(self, number, model, adapter=None):
        draw = random.Random(number)  # a schedule, not a secret
        self.path = PROTOCOLS[number % len(PROTOCOLS)]
        self.stream = draw.random() < 0.5
        self.model, self.adapter = model, adapter
        words = " ".join(draw.choices(WORDS, k=draw.choice([1, 3, 8, 60])))
        self._told = {
            "model": model,
            "stream": self.stream,
            "seed": number,
            "temperature": draw.choice([0, 0.9]),
            **({} if adapter is None else {"adapter": adapter}),
        }
        length = draw.randint(1, 24)
        match self.path:
            case "/v1/completions":
                self._told |= {"prompt": words, "max_tokens": length, "n": draw.choice([1, 1, 3])}
            case "/v1/responses":
                self._told |= {"input": words, "max_output_tokens": length, "store": False}
            case _:
                self._told |= {"messages": [{"role": "user", "content": words}], "max_tokens": length}

    def body(self, **more):
        return {**self._told, **more}

    def answer(self, text):
        """Return the visible text of each choice of an answer, as it came over the wire; ``None`` = it failed."""
        events = [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: {")]
        said, complete = {}, not self.stream
        for told in events if self.stream else [json.loads(text)]:
            if told.get("error"):
                return None
            complete = complete or self._ends(told)
            for choice, piece in self._pieces(told):
                said[choice] = said.get(choice, "") + (piece or "")
        return said if complete else None

    def _ends(self, told):
        match self.path:
            case "/v1/messages":
                return told["type"] == "message_stop"
            case "/v1/responses":
                return told["type"] in {"response.completed", "response.incomplete"}
            case _:
                return any(choice["finish_reason"] for choice in told["choices"])

    def _pieces(self, told):
        """Yield (choice, text) of one event, or of a whole answer."""
        for choice in told.get("choices", []):
            said = choice.get("delta") or choice.get("message") or {"content": choice.get("text")}
            yield choice["index"], said.get("content")
        for block in told.get("content", []):
            yield 0, block.get("text")
        for item in told.get("output", []):
            yield from ((0, part.get("text")) for part in item.get("content", []))
        if told.get("type") == "content_block_delta":
            yield 0, told["delta"].get("text")
        if told.get("type") == "response.output_text.delta":
            yield 0, told["delta"]


def write_adapter(folder, seed):
    """Write a low-rank adapter for a sketch, as mlx-lm does."""
    config = sketch_config()
    hidden, heads, dim = config["hidden_size"], config["num_attention_heads"], config["head_dim"]
    tensors = {}
    for layer in range(config["num_hidden_layers"]):
        keys = mx.random.split(mx.random.key(seed * 100 + layer))
        name = f"model.layers.{layer}.self_attn.q_proj"
        tensors[f"{name}.lora_a"] = mx.random.normal((hidden, RANK), key=keys[0]) * hidden**-0.5
        tensors[f"{name}.lora_b"] = mx.random.normal((RANK, heads * dim), key=keys[1])
    folder.mkdir()
    mx.save_safetensors(str(folder / "adapters.safetensors"), tensors)
    lora = {"rank": RANK, "scale": 2.0, "dropout": 0.0, "keys": ["self_attn.q_proj"]}
    told = {"fine_tune_type": "lora", "num_layers": -1, "lora_parameters": lora}
    (folder / "adapter_config.json").write_text(json.dumps(told))
    return folder


@pytest.fixture(scope="session")
def models(request, tmp_path_factory):
    """The folders of the models: two sketches, and one with recurrent layers where there is one."""
    home = tmp_path_factory.mktemp("models")
    sketches = [write_sketch(home / name, seed=seed) for seed, name in enumerate(("one", "two"))]
    try:
        return [*sketches, request.getfixturevalue("tiny_checkpoints") / "qwen35-text"]
    except pytest.skip.Exception:
        return sketches


@pytest.fixture(scope="session")
def adapters(tmp_path_factory):
    """The folder of adapters for the first model: ``a`` and ``b`` stay, ``c`` comes and goes."""
    root = tmp_path_factory.mktemp("adapters")
    for seed, name in enumerate("abc"):
        write_adapter(root / name, seed)
    return root


@pytest.fixture(scope="session")
def house(models, adapters):
    """Serve them; settings of the engine may be given."""

    def begin(**engine):
        mounts = tuple(f"{name}={adapters / name}" for name in "ab")
        flags = {
            "engine": {**ENGINE, **engine},
            "adapters": {"mount": mounts, "roots": (str(adapters),)},
            "server": {"keep_alive_s": 0.05},
        }
        return serve_folders(*models, plugins=[("saboteur", Saboteur())], flags=flags)

    return begin


@pytest.fixture(scope="session")
def questions(models):
    """Sixty questions: every surface, model and adapter; and those for the adapter that comes and goes."""
    names = [folder.name for folder in models]
    kinds = [*((name, None) for name in names), (names[0], "a"), (names[0], "b"), (names[0], "a+b")]
    usual = [Question(number, *kinds[number % len(kinds)]) for number in range(60)]
    return usual, [Question(number, names[0], "c") for number in range(60, 66)]
