"""The network against mlx-lm: live where it is installed, and by recorded numbers."""

import json

import mlx.core as mx
import pytest

from mlxp_core.loading import choose_family, open_folder
from mlxp_core.loading.network import load_network
from mlxp_core.testing.networks import Session
from mlxp_gemma4 import plugin

WHOLE = ["gemma4-e2b-text", "gemma4-e2b", "gemma4-31b", "gemma4-26b-a4b", "gemma4-12b-unified"]
VARIANTS = [
    *WHOLE,
    *(f"{name}-4bit-{group}" for name in WHOLE for group in ("g32", "g64")),
    "gemma4-e2b-text-mixed",
]
STEPS = 64


@pytest.fixture(scope="module")
def oracle(shared):
    return json.loads((shared / "tools" / "checkpoints" / "tiny_oracle.json").read_text())


def oracle_greedy(model, prompt, steps):
    """Return mlx-lm's logits before each of the likeliest tokens, ``[steps, vocabulary]``, and those tokens."""
    cache, said, logits = pytest.importorskip("mlx_lm.models.cache").make_prompt_cache(model), [], []
    last = model(mx.array([list(prompt)]), cache=cache)[0, -1]
    for _ in range(steps):
        logits.append(last)
        said.append(mx.argmax(last).item())
        last = model(mx.array([[said[-1]]]), cache=cache)[0, -1]
    return mx.stack(logits), said


@pytest.mark.parametrize("name", ["per_layer", "routed"])
def test_recorded_numbers_are_still_what_mlx_lm_computes(request, as_golden, name):
    gemma4 = pytest.importorskip("mlx_lm.models.gemma4_text")
    recorded = request.getfixturevalue(name)
    golden, model = as_golden(recorded), gemma4.Model(gemma4.ModelArgs.from_dict(recorded["config"]))
    names = {name: name.replace(".experts.", ".experts.switch_glu.") for name in golden.checkpoint}
    model.load_weights([(names[name], value) for name, value in golden.checkpoint.items()])
    logits, said = oracle_greedy(model, golden.prompt, STEPS)
    assert said == list(golden.greedy)
    assert len(set(said)) > 20
    for token, logit in golden.logits.items():
        assert logits[0, token].item() == pytest.approx(logit, abs=1e-3)


def loaded(path, dtype="float32"):
    """Load a checkpoint; return its configuration as read, and a first row."""
    folder, families = open_folder(path), {family.name: family for family in plugin.mlxp_model_families()}
    family, config = choose_family(folder, families)
    return config, Session(load_network(folder, family, config, dtype=dtype).model)


@pytest.mark.parametrize("length", ["short", "long"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_tiny_checkpoints_give_the_oracles_numbers(tiny_checkpoints, oracle, variant, length):
    expected = oracle[variant]["mlx_lm"]["float32"][length]
    _, session = loaded(tiny_checkpoints / variant)
    logits = session.read([expected["prompt"]])
    assert mx.argmax(logits[0], axis=-1).tolist() == expected["argmax_per_position"]
    for token, logit in expected["final"]["top5"]:
        assert logits[0][-1, token].item() == pytest.approx(logit, abs=1e-4)
    assert session.greedy(logits, 16)[0] == [expected["greedy16"]]


@pytest.mark.parametrize("variant", WHOLE)
def test_tiny_checkpoints_give_the_numbers_of_transformers(tiny_checkpoints, oracle, variant):
    prompts = oracle[variant]["mlx_lm"]["float32"]
    for length, expected in oracle[variant]["transformers_float32"].items():
        if length not in prompts:
            continue
        _, session = loaded(tiny_checkpoints / variant)
        logits = session.read([prompts[length]["prompt"]])
        assert mx.argmax(logits[0], axis=-1).tolist() == expected["argmax_per_position"]
        for token, logit in expected["final"]["top5"]:
            assert logits[0][-1, token].item() == pytest.approx(logit, abs=1e-4)
        assert session.greedy(logits, 16)[0] == [expected["greedy16"]]


@pytest.mark.parametrize("variant", VARIANTS)
def test_tiny_checkpoints_say_what_mlx_lm_says(tiny_checkpoints, oracle, variant):
    """Up to a placeholder, for which mlx-lm looks its own per-layer embedding up."""
    model, _ = pytest.importorskip("mlx_lm.utils").load_model(tiny_checkpoints / variant)
    model.set_dtype(mx.float32)
    prompt = oracle[variant]["mlx_lm"]["float32"]["long"]["prompt"]
    expected, said = oracle_greedy(model, prompt, STEPS)
    config, session = loaded(tiny_checkpoints / variant)
    same = next((step + 1 for step, token in enumerate(said) if token in config.placeholders), STEPS)
    assert same > 16
    found = session.read([[*prompt, *said[:-1]]])[0][-STEPS:]
    assert mx.allclose(found[:same], expected[:same], atol=1e-4)
    best = mx.sort(expected, axis=-1)
    margin = (best[:, -1] - best[:, -2])[:same].min().item()
    if margin > 1e-3:
        _, session = loaded(tiny_checkpoints / variant)
        assert session.greedy(session.read([prompt]), same)[0] == [said[:same]]


@pytest.mark.parametrize("variant", ["gemma4-e2b-text", "gemma4-31b-4bit-g64", "gemma4-26b-a4b-4bit-g64"])
def test_as_stored_the_numbers_are_the_oracles_but_for_rounding(tiny_checkpoints, oracle, variant):
    expected = oracle[variant]["mlx_lm"]["native"]["long"]
    _, session = loaded(tiny_checkpoints / variant, "bfloat16")
    logits = session.read([expected["prompt"]])[0]
    for token, logit in expected["final"]["top5"]:
        assert logits[-1, token].item() == pytest.approx(logit, abs=0.5)
