"""What config.json says of eyes, and what is refused."""

import pytest

from mlxp_core.errors import UnsupportedModel
from mlxp_gemma4.eyes.config import Cut, EmbedderConfig, TowerConfig, read

LARGE = {
    "model_type": "gemma4_vision",
    "hidden_size": 1152,
    "intermediate_size": 4304,
    "num_hidden_layers": 27,
    "num_attention_heads": 16,
    "num_key_value_heads": 16,
    "head_dim": 72,
    "rope_parameters": {"rope_type": "default", "rope_theta": 100.0},
    "standardize": True,
}
TEXT = {"text_config": {"hidden_size": 5376}}


def vision(**keys):
    return {**TEXT, "vision_config": {"model_type": "gemma4_vision", **keys}}


def unified(**keys):
    return {**TEXT, "vision_config": {"model_type": "gemma4_unified_vision", **keys}}


def test_a_large_tower_is_read():
    assert read({**TEXT, "vision_config": LARGE}) == TowerConfig(
        cut=Cut(side=48, longest=3413, budget=280),
        patch=16,
        pool=3,
        positions=10240,
        hidden=1152,
        inner=4304,
        layers=27,
        heads=16,
        head_dim=72,
        theta=100.0,
        eps=1e-6,
        clipped=False,
        standardized=True,
        language=5376,
    )


def test_the_unified_models_eyes_are_read():
    assert read(unified(model_patch_size=48, output_proj_dims=3840)) == EmbedderConfig(
        cut=Cut(side=48, longest=1120, budget=280), positions=1120, hidden=3840, eps=1e-6, language=5376
    )


@pytest.mark.parametrize("raw", [{}, {"vision_config": None}, {"model_type": "gemma4_text"}])
def test_models_without_eyes_have_none(raw):
    assert read(raw) is None


@pytest.mark.parametrize("raw", [vision(default_output_length=70), unified(num_soft_tokens=70)])
def test_the_model_says_how_many_tokens_an_image_has_and_so_do_its_eyes(raw):
    assert read(raw).cut.budget == 70
    assert read({**raw, "vision_soft_tokens_per_image": 560}).cut.budget == 560


@pytest.mark.parametrize(
    ("raw", "named"),
    [
        ({**TEXT, "vision_config": 3}, "model_type None"),
        ({**TEXT, "vision_config": {"model_type": "siglip"}}, "'siglip'"),
        ({"vision_config": {"model_type": "gemma4_vision"}}, "text_config"),
        (vision(num_attention_heads=12, num_key_value_heads=4), "num_key_value_heads"),
        (vision(head_dim=30), "head_dim 30"),
        (vision(hidden_size=0), "hidden_size"),
        (vision(attention_bias=True), "attention_bias"),
        (vision(hidden_activation="silu"), "hidden_activation"),
        (vision(rope_parameters={"rope_type": "yarn"}), "rope_type"),
        (unified(model_patch_size=32), "model_patch_size 32"),
        (unified(output_proj_dims=640), "output_proj_dims 640"),
    ],
)
def test_what_cannot_be_built_is_refused_by_name(raw, named):
    with pytest.raises(UnsupportedModel, match=named):
        read(raw)
