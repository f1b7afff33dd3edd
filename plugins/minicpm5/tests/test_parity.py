"""The network against mlx-lm: live where it is installed, and by recorded numbers."""

import json

import mlx.core as mx
import pytest

from mlxp_core.loading import choose_family, open_folder
from mlxp_core.loading.network import load_network
from mlxp_core.testing.networks import Session
from mlxp_minicpm5 import plugin

VARIANTS = ["minicpm5", "minicpm5-4bit-g32", "minicpm5-4bit-g64", "minicpm5-mixed"]
STEPS = 64


@pytest.fixture(scope="module")
def oracle(shared):
    return json.loads((shared / "tools" / "checkpoints" / "tiny_oracle.json").read_text())


def oracle_greedy(model, prompt, steps):
    """Return mlx-lm's logits after the prompt and the likeliest tokens from there."""
    cache, said = pytest.importorskip("mlx_lm.models.cache").make_prompt_cache(model), []
    first = last = model(mx.array([list(prompt)]), cache=cache)[0, -1]
    for _ in range(steps):
        said.append(mx.argmax(last).item())
        last = model(mx.array([[said[-1]]]), cache=cache)[0, -1]
    return first, said


def test_recorded_numbers_are_still_what_mlx_lm_computes(golden, llama_config):
    llama = pytest.importorskip("mlx_lm.models.llama")
    model = llama.Model(llama.ModelArgs.from_dict(llama_config))
    model.load_weights(list(golden.checkpoint.items()))
    first, said = oracle_greedy(model, golden.prompt, STEPS)
    assert said == list(golden.greedy)
    assert len(set(said)) > 20
    for token, logit in golden.logits.items():
        assert first[token].item() == pytest.approx(logit, abs=1e-3)


def read_float32(path):
    """Load a checkpoint with its first row open."""
    folder, families = open_folder(path), {family.name: family for family in plugin.mlxp_model_families()}
    family, config = choose_family(folder, families)
    return Session(load_network(folder, family, config, dtype="float32").model)


@pytest.mark.parametrize("length", ["short", "long"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_tiny_checkpoints_give_the_oracles_numbers(tiny_checkpoints, oracle, variant, length):
    expected = oracle[variant]["mlx_lm"]["float32"][length]
    session = read_float32(tiny_checkpoints / variant)
    logits = session.read([expected["prompt"]])
    assert mx.argmax(logits[0], axis=-1).tolist() == expected["argmax_per_position"]
    for token, logit in expected["final"]["top5"]:
        assert logits[0][-1, token].item() == pytest.approx(logit, abs=1e-4)
    assert session.greedy(logits, 16)[0] == [expected["greedy16"]]


@pytest.mark.parametrize("variant", VARIANTS)
def test_tiny_checkpoints_say_what_mlx_lm_says(tiny_checkpoints, oracle, variant):
    model, _ = pytest.importorskip("mlx_lm.utils").load_model(tiny_checkpoints / variant)
    model.set_dtype(mx.float32)
    prompt = oracle[variant]["mlx_lm"]["float32"]["long"]["prompt"]
    first, said = oracle_greedy(model, prompt, STEPS)
    session = read_float32(tiny_checkpoints / variant)
    logits = session.read([prompt])
    assert mx.allclose(logits[0][-1], first, atol=1e-4)
    assert session.greedy(logits, STEPS)[0] == [said]
