"""What config.json says of eyes, and what is refused."""

import pytest

from mlxp_core.errors import UnsupportedModel
from mlxp_qwen35.eyes.config import TowerConfig, read

LARGE = {
    "model_type": "qwen3_5",
    "deepstack_visual_indexes": [],
    "depth": 27,
    "hidden_act": "gelu_pytorch_tanh",
    "hidden_size": 1152,
    "in_channels": 3,
    "initializer_range": 0.02,
    "intermediate_size": 4304,
    "num_heads": 16,
    "num_position_embeddings": 2304,
    "out_hidden_size": 5120,
    "patch_size": 16,
    "spatial_merge_size": 2,
    "temporal_patch_size": 2,
}


def model(**keys):
    return {"text_config": {"hidden_size": 5120}, "vision_config": {**LARGE, **keys}}


def without(key):
    return {**model(), "vision_config": {name: value for name, value in LARGE.items() if name != key}}


def test_a_large_tower_is_read():
    config = read(model())
    assert config == TowerConfig(
        patch=16,
        frames=2,
        merge=2,
        positions=48,
        hidden=1152,
        inner=4304,
        layers=27,
        heads=16,
        theta=10000.0,
        language=5120,
    )
    assert (config.side, config.head_dim) == (32, 72)


def test_what_is_the_same_in_all_models_may_be_absent():
    same = {"deepstack_visual_indexes", "hidden_act", "in_channels", "model_type", "num_position_embeddings"}
    same |= {"patch_size", "spatial_merge_size", "temporal_patch_size"}
    for key in same:
        assert read(without(key)) == read(model())


def test_periods_may_be_told():
    assert read(model(rope_parameters={"rope_type": "axial", "rope_theta": 100.0})).theta == 100.0


@pytest.mark.parametrize("raw", [{}, {"vision_config": None}, {"model_type": "qwen3_5_text"}])
def test_models_without_eyes_have_none(raw):
    assert read(raw) is None


@pytest.mark.parametrize(
    ("raw", "named"),
    [
        ({**model(), "vision_config": 3}, "object"),
        ({"vision_config": LARGE}, "text_config"),
        *((without(key), key) for key in ("depth", "hidden_size", "intermediate_size", "num_heads")),
        (model(depth=0), "depth"),
        (model(num_heads=7), "hidden_size 1152 for 7 num_heads"),
        (model(hidden_size=96), "hidden_size 96 for 16 num_heads"),
        (model(num_position_embeddings=2300), "2300 num_position_embeddings"),
        (model(out_hidden_size=4096), "out_hidden_size 4096, but text_config has hidden_size 5120"),
        (model(in_channels=1), "in_channels"),
        (model(hidden_act="silu"), "hidden_act"),
        (model(deepstack_visual_indexes=[8, 16, 24]), "deepstack_visual_indexes"),
        (model(rope_parameters={"rope_type": "yarn"}), "rope_type"),
    ],
)
def test_what_cannot_be_built_is_refused_by_name(raw, named):
    with pytest.raises(UnsupportedModel, match=named):
        read(raw)
