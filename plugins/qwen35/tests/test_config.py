import pytest

from mlxp_core.errors import UnsupportedModel
from mlxp_qwen35.config import Experts, read
from mlxp_qwen35.need import need

ROPE = {
    "rope_type": "default",
    "rope_theta": 1e7,
    "partial_rotary_factor": 0.25,
    "mrope_section": [11, 11, 10],
}
QWEN35_4B = {
    "vocab_size": 248320,
    "hidden_size": 2560,
    "intermediate_size": 9216,
    "num_hidden_layers": 32,
    "num_attention_heads": 16,
    "num_key_value_heads": 4,
    "head_dim": 256,
    "linear_num_key_heads": 16,
    "linear_num_value_heads": 32,
    "rope_parameters": ROPE,
    "tie_word_embeddings": True,
}
QWEN35_35B_A3B = {
    "vocab_size": 248320,
    "hidden_size": 2048,
    "num_hidden_layers": 40,
    "num_attention_heads": 16,
    "num_key_value_heads": 2,
    "num_experts": 256,
    "num_experts_per_tok": 8,
    "moe_intermediate_size": 512,
    "shared_expert_intermediate_size": 512,
    "rope_parameters": ROPE,
}


def test_the_text_part_may_be_nested(dense, multimodal):
    assert read(multimodal(dense)) == read(dense)


def test_absent_keys_have_the_defaults_of_transformers(dense):
    shape = read({key: value for key, value in QWEN35_35B_A3B.items() if key != "rope_parameters"})
    assert (shape.head_dim, shape.eps, shape.tied, shape.draft_layers) == (256, 1e-6, False, 0)
    assert (shape.rotary.dims, shape.rotary.theta, shape.rotary.sections) == (64, 1e4, (11, 11, 10))
    assert (shape.delta.key_heads, shape.delta.heads, shape.delta.kernel) == (16, 32, 4)
    assert shape.feedforward == Experts(count=256, chosen=8, inner=512, shared=512)
    assert read(dense).feedforward == 96


def test_every_fourth_layer_is_full(dense):
    kinds = read({**dense, "num_hidden_layers": 9}).kinds
    assert [layer for layer, kind in enumerate(kinds) if kind == "full_attention"] == [3, 7]
    named = ["full_attention", "linear_attention", "full_attention", "linear_attention"]
    assert read({**dense, "layer_types": named}).kinds == tuple(named)


@pytest.mark.parametrize(
    "keys",
    [
        {"rope_parameters": {**ROPE, "rope_theta": 5e6, "partial_rotary_factor": 0.5}},
        {"rope_parameters": None, "rope_theta": 5e6, "partial_rotary_factor": 0.5},
        {
            "rope_parameters": None,
            "rope_scaling": {"type": "mrope"},
            "rope_theta": 5e6,
            "partial_rotary_factor": 0.5,
        },
    ],
    ids=["newer", "older", "older still"],
)
def test_the_periods_are_read_from_either_place(dense, keys):
    rotary = read({**dense, **keys}).rotary
    assert (rotary.theta, rotary.dims) == (5e6, 16)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"rope_parameters": {"rope_type": "yarn"}}, "rope_parameters of type 'yarn'"),
        ({"rope_parameters": {"mrope_interleaved": False}}, "mrope_interleaved"),
        ({"rope_parameters": {"partial_rotary_factor": 2.0}}, "turns 64 dimensions"),
        ({"rope_parameters": {"partial_rotary_factor": 0.1}}, "turns 3 dimensions"),
        ({"num_key_value_heads": 3}, "num_key_value_heads 3"),
        ({"linear_num_key_heads": 3}, "linear_num_key_heads 3"),
        ({"linear_conv_kernel_dim": 1}, "linear_conv_kernel_dim"),
        ({"layer_types": ["linear_attention"]}, "layer_types names 1 layers"),
        ({"layer_types": ["full_attention"] * 4}, "linear_attention layer"),
        ({"layer_types": ["sliding_attention"] * 4}, "layer_types"),
        ({"attention_bias": True}, "attention_bias"),
        ({"attn_output_gate": False}, "attn_output_gate"),
        ({"hidden_act": "gelu"}, "hidden_act"),
        ({"intermediate_size": None}, "neither intermediate_size nor num_experts"),
        ({"num_experts": 4, "num_experts_per_tok": 5}, "num_experts_per_tok 5"),
        ({"mlp_only_layers": [0]}, "mlp_only_layers"),
        ({"decoder_sparse_step": 2}, "decoder_sparse_step"),
        ({"vocab_size": "many"}, "vocab_size"),
    ],
)
def test_what_is_not_supported_is_refused_by_name(dense, multimodal, keys, message):
    for raw in ({**dense, **keys}, multimodal({**dense, **keys})):
        with pytest.raises(UnsupportedModel, match=message):
            read(raw)


def test_a_text_part_that_is_none_is_refused(dense):
    with pytest.raises(UnsupportedModel, match="text_config"):
        read({**dense, "text_config": "elsewhere"})


@pytest.mark.parametrize(
    ("keys", "billions"), [(QWEN35_4B, 4.2), (QWEN35_35B_A3B, 34.7)], ids=["4B", "35B-A3B"]
)
def test_released_models_have_about_their_published_size(keys, billions):
    assert need(read(keys), 1).weights == pytest.approx(billions * 1e9, rel=0.02)


def test_only_full_layers_grow_and_only_linear_ones_have_a_fixed_size():
    asked = need(read(QWEN35_4B), 2)
    assert sum(layer.values for layer in asked.layers) == 2 * 8 * 4 * 256
    assert sum(layer.state for layer in asked.layers) == 24 * (3 * 8192 * 2 + 32 * 128 * 128 * 4)
    assert not any(layer.values and layer.state for layer in asked.layers)


def test_experts_that_a_token_does_not_visit_are_idle():
    asked = need(read(QWEN35_35B_A3B), 2)
    assert (asked.weights - asked.idle) / 2e9 == pytest.approx(3, abs=0.6)
    assert need(read(QWEN35_4B), 2).idle == 0
