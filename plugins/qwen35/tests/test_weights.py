import mlx.core as mx
import pytest

from mlxp_core.testing.networks import parameters, random_parameters, renamed
from mlxp_qwen35 import plugin
from mlxp_qwen35.config import read
from mlxp_qwen35.mtp import Predictor
from mlxp_qwen35.weights import convert, convert_draft, rename, rename_draft


@pytest.fixture
def family():
    return plugin.mlxp_model_families()[0]


def same(one, other, tolerance=0.0):
    return one.keys() == other.keys() and all(
        one[name].shape == other[name].shape and mx.abs(one[name] - other[name]).max() <= tolerance
        for name in one
    )


SPELLINGS = {
    "multimodal": lambda name: name.replace("model.", "model.language_model.", 1),
    "text-only": lambda name: name,
    "converted": lambda name: f"language_model.{name}",
}


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_three_spellings_are_one_network(family, network, either, spelling):
    own = parameters(network(either))
    spelt = {SPELLINGS[spelling](name): value for name, value in own.items()}
    assert same(renamed(family, read(either), spelt), own)


def test_published_and_converted_files_are_one_network(family, network, either, published):
    own = parameters(network(either))
    written = published(own)
    assert not same(written, own)
    assert same(renamed(family, read(either), written), own, tolerance=1e-6)


def test_published_norms_keep_all_digits(dense):
    stored = mx.array([2**-9, -(2**-7)], dtype=mx.bfloat16)
    weights = {
        "model.norm.weight": stored,
        "model.layers.0.linear_attn.norm.weight": stored,
        "model.layers.0.linear_attn.conv1d.weight": mx.zeros((8, 1, 4)),
    }
    convert(weights, read(dense))
    assert weights["model.norm.weight"].tolist() == [1 + 2**-9, 1 - 2**-7]
    assert mx.array_equal(weights["model.layers.0.linear_attn.norm.weight"], stored)
    assert weights["model.layers.0.linear_attn.conv1d.weight"].shape == (8, 4, 1)


def test_parts_of_other_networks_and_tables_are_dropped():
    for name in (
        "model.visual.blocks.0.norm1.weight",
        "vision_tower.patch_embed.proj.weight",
        "mtp.fc.weight",
        "language_model.mtp.fc.weight",
        "model.layers.3.self_attn.rotary_emb.inv_freq",
    ):
        assert rename(name) is None


@pytest.mark.parametrize("tied", [True, False])
def test_a_head_is_dropped_where_it_is_tied(dense, tied):
    weights = {"model.embed_tokens.weight": mx.zeros((2, 2)), "lm_head.weight": mx.zeros((2, 2))}
    convert(weights, read({**dense, "tie_word_embeddings": tied}))
    assert ("lm_head.weight" in weights) is not tied


def draft_files(made, style):
    """Return the files of a model with a draft head, as published or as converted, little else being in them."""
    kernel = (8, 1, 4) if style == "published" else (8, 4, 1)
    less = 1 if style == "published" else 0
    prefix = "mtp." if style == "published" else "language_model.mtp."
    tensors = {f"{prefix}{name}": value - less * ("norm" in name) for name, value in made.items()}
    return {
        **tensors,
        "model.layers.0.linear_attn.conv1d.weight": mx.zeros(kernel),
        "lm_head.weight": mx.zeros(1),
    }


def draft(files, config):
    weights = {}
    for name, value in files.items():
        if (target := rename_draft(name)) is not None:
            weights[target] = value
    convert_draft(weights, config)
    return weights


@pytest.mark.parametrize("style", ["published", "converted"])
def test_a_draft_head_is_read_as_the_file_stores_it(dense, style):
    config = read(dense)
    made = random_parameters(Predictor(config), 1)
    assert same(draft(draft_files(made, style), config), made, tolerance=1e-6)


def test_nothing_is_left_of_a_file_without_a_draft_head(dense):
    files = {
        "model.layers.0.linear_attn.conv1d.weight": mx.zeros((8, 1, 4)),
        "model.norm.weight": mx.zeros(4),
    }
    assert draft(files, read(dense)) == {}


def test_layers_are_named_as_adapters_and_quantizers_expect(experts, network):
    names = {name for name in parameters(network(experts)) if ".layers.0." in name}
    layer = "model.layers.0"
    assert names == {
        *(f"{layer}.linear_attn.in_proj_{part}.weight" for part in ("qkv", "z", "b", "a")),
        *(f"{layer}.linear_attn.{part}" for part in ("conv1d.weight", "A_log", "dt_bias", "norm.weight")),
        f"{layer}.linear_attn.out_proj.weight",
        f"{layer}.mlp.gate.weight",
        *(
            f"{layer}.mlp.{group}.{part}_proj.weight"
            for group in ("switch_mlp", "shared_expert")
            for part in ("gate", "up", "down")
        ),
        f"{layer}.mlp.shared_expert_gate.weight",
        f"{layer}.input_layernorm.weight",
        f"{layer}.post_attention_layernorm.weight",
    }
