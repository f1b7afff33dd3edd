"""The network against others: mlx-lm live where it is installed, mlx-lm and transformers by recorded numbers."""

import importlib
import json

import mlx.core as mx
import pytest

from mlxp_core.loading import choose_family, open_folder
from mlxp_core.loading.network import load_network
from mlxp_core.testing.family import assert_close
from mlxp_core.testing.networks import Session, parameters
from mlxp_qwen35 import plugin

WHOLE = ["qwen35", "qwen35-moe", "qwen35-text"]
VARIANTS = [*WHOLE, *(f"{name}-4bit-{group}" for name in WHOLE for group in ("g32", "g64")), "qwen35-mixed"]
STEPS = 64
CLOSE = 2e-5
"""Of the largest logit: mlx-lm itself is 1e-5 off transformers."""


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


@pytest.mark.parametrize(("name", "module"), [("dense", "qwen3_5"), ("experts", "qwen3_5_moe")])
def test_recorded_numbers_are_still_what_mlx_lm_computes(
    recording, as_golden, network, multimodal, name, module
):
    pytest.importorskip("mlx_lm")
    theirs = importlib.import_module(f"mlx_lm.models.{module}")
    recorded = recording(name)
    golden, own = as_golden(recorded), network(recorded["config"], recorded["seed"])
    model = theirs.Model(theirs.ModelArgs.from_dict(multimodal(recorded["config"])))
    model.load_weights([(f"language_model.{name}", value) for name, value in parameters(own).items()])
    logits, said = oracle_greedy(model, golden.prompt, STEPS)
    assert said == list(golden.greedy)
    assert len(set(said)) > 20
    for token, logit in golden.logits.items():
        assert logits[0, token].item() == pytest.approx(logit, abs=1e-3)


def loaded(path, dtype="float32"):
    """Load a checkpoint with its first row open."""
    folder, families = open_folder(path), {family.name: family for family in plugin.mlxp_model_families()}
    family, config = choose_family(folder, families)
    return Session(load_network(folder, family, config, dtype=dtype).model)


def of(logits, expected):
    """Return our logits of the recorded tokens, and the recorded ones."""
    tokens, values = zip(*expected["top5"], strict=True)
    return logits[mx.array(tokens)], mx.array(values)


@pytest.mark.parametrize("length", ["short", "long"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_tiny_checkpoints_give_the_oracles_numbers(tiny_checkpoints, oracle, variant, length):
    expected = oracle[variant]["mlx_lm"]["float32"][length]
    session = loaded(tiny_checkpoints / variant)
    logits = session.read([expected["prompt"]])
    assert mx.argmax(logits[0], axis=-1).tolist() == expected["argmax_per_position"]
    assert_close(*of(logits[0][-1], expected["final"]), CLOSE)
    assert session.greedy(logits, 16)[0] == [expected["greedy16"]]


@pytest.mark.parametrize("length", ["short", "long"])
@pytest.mark.parametrize("variant", WHOLE)
def test_published_checkpoints_give_the_numbers_of_transformers(tiny_checkpoints, oracle, variant, length):
    expected = oracle[variant]["transformers_float32"][length]
    session = loaded(tiny_checkpoints / variant)
    logits = session.read([oracle[variant]["mlx_lm"]["float32"][length]["prompt"]])
    assert mx.argmax(logits[0], axis=-1).tolist() == expected["argmax_per_position"]
    found, recorded = of(logits[0][-1], expected["final"])
    on_cpu = mx.default_device().type == mx.DeviceType.cpu
    assert mx.allclose(found, recorded, rtol=0 if on_cpu else 1e-5, atol=1e-4)  # a GPU sums in another order
    assert session.greedy(logits, 16)[0] == [expected["greedy16"]]


@pytest.mark.parametrize("variant", VARIANTS)
def test_tiny_checkpoints_say_what_mlx_lm_says(tiny_checkpoints, oracle, variant):
    named = {"model_config": {"model_type": "qwen3_5"}} if "text" in variant else {}
    model, _ = pytest.importorskip("mlx_lm.utils").load_model(tiny_checkpoints / variant, **named)
    model.set_dtype(mx.float32)
    prompt = oracle[variant]["mlx_lm"]["float32"]["long"]["prompt"]
    expected, said = oracle_greedy(model, prompt, STEPS)
    session = loaded(tiny_checkpoints / variant)
    logits = session.read([prompt])
    found = [logits[0][-1], *(session.read([[token]])[0][-1] for token in said[:-1])]
    assert_close(mx.stack(found), expected, CLOSE)
    margins = mx.sort(expected, axis=-1)
    clear = (margins[:, -1] - margins[:, -2]) > 4 * CLOSE * mx.abs(expected).max()
    assert mx.where(clear, mx.argmax(mx.stack(found), axis=-1), mx.array(said)).tolist() == said
    assert clear.sum() >= STEPS - 4


@pytest.mark.parametrize("variant", ["qwen35", "qwen35-4bit-g64"])
def test_sixteen_bits_cost_no_more_than_they_cost_mlx_lm(tiny_checkpoints, oracle, variant):
    model, _ = pytest.importorskip("mlx_lm.utils").load_model(tiny_checkpoints / variant)
    prompt = oracle[variant]["mlx_lm"]["float32"]["long"]["prompt"]
    exact = loaded(tiny_checkpoints / variant).read([prompt])[0]
    ours = loaded(tiny_checkpoints / variant, "bfloat16").read([prompt])[0]
    theirs = model(mx.array([prompt]))[0].astype(mx.float32)
    assert mx.abs(ours - exact).mean() <= 1.2 * mx.abs(theirs - exact).mean()


def test_in_sixteen_bits_only_what_must_be_float32_is(tiny_checkpoints):
    found = parameters(loaded(tiny_checkpoints / "qwen35", "bfloat16").network)
    wide = {name.split(".", 3)[-1] for name, array in found.items() if array.dtype == mx.float32}
    assert wide == {"linear_attn.A_log", "linear_attn.norm.weight"}
    assert {array.dtype for array in found.values()} == {mx.bfloat16, mx.float32}
