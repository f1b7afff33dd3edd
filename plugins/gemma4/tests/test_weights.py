"""All spellings of a checkpoint are the same network."""

import mlx.core as mx
import pytest

from mlxp_core.testing.networks import parameters, random_parameters, renamed
from mlxp_gemma4 import plugin
from mlxp_gemma4.config import read
from mlxp_gemma4.text import Gemma4
from mlxp_gemma4.weights import convert, rename

PREFIXES = {"original": "model.language_model.", "converted": "language_model.model.", "text alone": "model."}
OTHERS = [
    "model.vision_tower.encoder.layers.0.mlp.up_proj.linear.weight",
    "vision_tower.std_bias",
    "model.vision_embedder.patch_ln1.bias",
    "model.embed_vision.embedding_projection.weight",
    "model.multi_modal_projector.weight",
    "model.audio_tower.layers.0.weight",
    "embed_audio.embedding_projection.weight",
    "language_model.model.layers.0.self_attn.rotary_emb.inv_freq",
    "vision_tower.encoder.layers.0.mlp.up_proj.input_max",
    "model.language_model.layers.0.mlp.up_proj.output_min",
]


def spelled(own, prefix, *, fused):
    """Write a network's parameters as a checkpoint has them."""
    written = {}
    for name, value in own.items():
        rest = name.removeprefix("model.")
        if ".experts." not in name or not fused:
            written[prefix + rest.replace(".experts.", ".experts.switch_glu.")] = value
        elif "gate_proj" in name:
            up = own[name.replace("gate_proj", "up_proj")]
            written[prefix + rest.replace("gate_proj.weight", "gate_up_proj")] = mx.concatenate(
                [value, up], axis=1
            )
        elif "down_proj" in name:
            written[prefix + rest.removesuffix(".weight")] = value
    return written


@pytest.mark.parametrize("spelling", PREFIXES)
@pytest.mark.parametrize("fused", [True, False], ids=["experts fused", "experts apart"])
def test_every_spelling_is_the_same_network(routed, spelling, fused):
    config = read({**routed["config"], "tie_word_embeddings": True})
    own = random_parameters(Gemma4(config), 3)
    checkpoint = spelled(own, PREFIXES[spelling], fused=fused) | {name: mx.zeros(1) for name in OTHERS}
    found = renamed(plugin.mlxp_model_families()[0], config, checkpoint)
    assert found.keys() == own.keys()
    assert all(mx.array_equal(found[name], own[name]) for name in own)


@pytest.mark.parametrize("name", OTHERS)
def test_what_is_not_of_the_text_network_is_dropped(name):
    assert rename(name) is None


def test_a_head_keeps_its_name_wherever_it_is():
    assert {rename(f"{prefix}lm_head.weight") for prefix in ("", "language_model.", "model.")} == {
        "lm_head.weight"
    }


@pytest.mark.parametrize("tied", [True, False])
def test_a_head_is_dropped_where_it_is_tied(least, tied):
    weights = {"lm_head.weight": mx.zeros((2, 2)), "lm_head.scales": mx.zeros((2, 2))}
    convert(weights, read({**least, "tie_word_embeddings": tied}))
    assert bool(weights) is not tied


def test_layers_that_share_keys_drop_the_ones_they_have_in_the_file(per_layer):
    config = read(per_layer["config"])
    own = parameters(Gemma4(config))
    unused = {
        f"model.layers.{layer}.self_attn.{part}.weight": mx.zeros((1, 1))
        for layer in range(len(config.own_layers), len(config.layers))
        for part in ("k_proj", "v_proj", "k_norm")
    }
    assert len(unused) == 12
    weights = {**own, **unused}
    convert(weights, config)
    assert weights.keys() == own.keys()


def test_quantized_gates_that_are_fused_are_parted_too(routed):
    config = read(routed["config"])
    stack = mx.random.normal((6, 64, 64), key=mx.random.key(0))
    parts = dict(zip(("weight", "scales", "biases"), mx.quantize(stack, 32, 4), strict=True))
    weights = {f"model.layers.0.experts.gate_up_proj.{part}": value for part, value in parts.items()}
    convert(weights, config)
    for name, half in (("gate", stack[:, :32]), ("up", stack[:, 32:])):
        for part, value in zip(parts, mx.quantize(half, 32, 4), strict=True):
            assert mx.array_equal(weights[f"model.layers.0.experts.{name}_proj.{part}"], value)
