"""Several models in one server: two families, real weights, one memory."""

import threading

import openai
import pytest

from mlxp_core.loading.sketch import write_sketch
from mlxp_core.testing.tiny import write_tiny_model

PATIENCE_S = 60


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    """Two folders with models of different families."""
    qwen = pytest.importorskip("mlxp_qwen35.plugin", reason="the second family")
    (family,) = [each for each in qwen.mlxp_model_families() if each.name == "qwen35"]
    folder = tmp_path_factory.mktemp("pair")
    tiny = {
        "model_type": "qwen3_5_text",
        "vocab_size": 512,
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": 4,
        "num_attention_heads": 2,
        "num_key_value_heads": 1,
        "head_dim": 16,
        "linear_num_key_heads": 2,
        "linear_num_value_heads": 2,
        "linear_key_head_dim": 16,
        "linear_value_head_dim": 16,
        "linear_conv_kernel_dim": 4,
        "max_position_embeddings": 512,
        "rms_norm_eps": 1e-6,
        "full_attention_interval": 4,
        "rope_parameters": {"rope_theta": 10000.0, "partial_rotary_factor": 0.5},
    }
    return write_sketch(folder / "sketch"), write_tiny_model(folder / "qwen", family, tiny)


class Clock:
    def __init__(self):
        self.now_s = 0.0

    def __call__(self):
        return self.now_s


def states(served):
    return {card["id"]: card["state"] for card in served.client.get("/v1/models").json()["data"]}


def say(client, model, **more):
    asked = {"messages": [{"role": "user", "content": "Hello"}], "temperature": 0, "max_tokens": 6, **more}
    return client.chat.completions.create(model=model, **asked)


def loads(served):
    return {model: state.loads for model, state in served.engine.stats().models.items()}


@pytest.fixture(scope="module")
def alone(pair, live, official):
    """What each of the models answers in a server of its own."""
    told = {}
    for folder in pair:
        with live(folder) as served:
            told[folder.name] = say(official(served.url), folder.name).choices[0].message
    return told


@pytest.fixture
def tight(pair, live):
    """Memory for one of the two at a time."""
    with live(*pair, flags={"engine": {"memory_budget": "1GiB"}}) as served:
        held = {model: served.desk.fit(model).report for model in ("sketch", "qwen")}
    least = max(told.weights_bytes + told.transient_bytes + told.kv_bytes for told in held.values())
    both = sum(told.weights_bytes for told in held.values())
    assert least > both / 2
    return str(least)


def test_both_answer_as_they_do_alone_under_all_their_names(pair, live, official, alone):
    flags = {"models": {"alias": [f"gpt-4o={pair[1]}", "fast=sketch"]}}
    with live(*pair, flags=flags) as served:
        client = official(served.url)
        for name, meant in {"sketch": "sketch", "fast": "sketch", "qwen": "qwen", "gpt-4o": "qwen"}.items():
            answer = say(client, name)
            assert answer.choices[0].message == alone[meant], name
            assert answer.model == meant
        cards = served.client.get("/v1/models").json()["data"]
        assert {card["id"]: card["aliases"] for card in cards} == {"sketch": ["fast"], "qwen": ["gpt-4o"]}
        assert states(served) == {"sketch": "loaded", "qwen": "loaded"}
        assert say(client, "").model == "sketch"


def test_an_unknown_name_is_told_what_there_is(pair, live, official):
    with live(*pair) as served, pytest.raises(openai.NotFoundError) as raised:
        say(official(served.url), "gpt-5")
    assert raised.value.code == "model_not_found"
    assert "sketch, qwen" in raised.value.message


def test_in_a_small_memory_they_take_turns_and_answer_as_ever(pair, live, official, alone, tight):
    flags = {"engine": {"memory_budget": tight}}
    with live(*pair, flags=flags) as served:
        client = official(served.url)
        assert states(served) == {"sketch": "loaded", "qwen": "on disk"}
        for name in ("sketch", "qwen", "sketch"):
            assert say(client, name).choices[0].message == alone[name]
            assert states(served)[name] == "loaded"
            assert sorted(states(served).values()) == ["loaded", "on disk"]
        assert loads(served) == {"sketch": 2, "qwen": 1}


def test_answers_under_way_end_before_their_model_goes(pair, live, official, tight):
    flags = {"engine": {"memory_budget": tight}}
    with live(*pair, flags=flags) as served:
        client = official(served.url)
        told = {}

        def ask(number, name):
            told[number] = say(client, name, max_tokens=24)

        threads = [
            threading.Thread(target=ask, args=(number, name))
            for number, name in enumerate(["sketch", "sketch", "qwen", "sketch", "qwen"])
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE_S)
        assert [told[number].model for number in range(5)] == ["sketch", "sketch", "qwen", "sketch", "qwen"]
        assert {answer.choices[0].finish_reason for answer in told.values()} <= {"length", "stop"}
        assert sorted(states(served).values()) == ["loaded", "on disk"]


def test_an_idle_model_goes_a_pinned_one_stays_and_both_answer_again(pair, live, official):
    clock = Clock()
    flags = {"models": {"unload_after_s": 60.0, "pin": ["sketch"]}}
    with live(*pair, flags=flags, clock=clock) as served:
        client = official(served.url)
        say(client, "qwen")
        clock.now_s += 59
        say(client, "sketch")
        assert states(served)["qwen"] == "loaded"
        clock.now_s += 2
        say(client, "sketch")
        deadline = served.client.post("/v1/models/sketch/pin")  # comes after whatever was due
        assert deadline.status_code == 200
        assert states(served) == {"sketch": "loaded", "qwen": "on disk"}
        assert say(client, "qwen").model == "qwen"
        assert loads(served) == {"sketch": 1, "qwen": 2}


def test_an_operator_loads_unloads_and_pins(pair, live, tight):
    flags = {"engine": {"memory_budget": tight}}
    with live(*pair, flags=flags) as served:
        assert served.client.post("/v1/models/qwen/load").json()["state"] == "loaded"
        assert states(served) == {"sketch": "on disk", "qwen": "loaded"}
        refused = served.client.post("/v1/models/qwen/pin")
        assert refused.status_code == 409
        assert served.client.post("/v1/models/qwen/unload").json()["state"] == "on disk"
        assert set(states(served).values()) == {"on disk"}
        assert served.client.get("/health").status_code == 200


def test_numbers_are_kept_model_by_model(pair, live, official):
    with live(*pair) as served:
        client = official(served.url)
        say(client, "sketch")
        say(client, "qwen")
        say(client, "qwen")
        told = served.client.get("/stats").json()["models"]
        assert {model: each["finished"] for model, each in told.items()} == {"sketch": 1, "qwen": 2}
        assert told["qwen"]["completion_tokens"] > 0


def test_the_command_serves_several_under_further_names(pair, process, official):
    started = process(pair[0], str(pair[1]), "--alias", f"fast={pair[1]}", "--pin", "sketch")
    client = official(started.url)
    assert say(client, "fast").model == "qwen"
    assert [model.id for model in client.models.list()] == ["sketch", "qwen"]
    with pytest.raises(openai.NotFoundError):
        say(client, "gpt-5")
