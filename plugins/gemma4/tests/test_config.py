import pytest

from mlxp_core.errors import UnsupportedModel
from mlxp_gemma4.config import read, whole_images
from mlxp_gemma4.keys import MODEL_TYPES

SLIDING, FULL = "sliding_attention", "full_attention"


@pytest.mark.parametrize(
    "key",
    [
        "vocab_size",
        "hidden_size",
        "intermediate_size",
        "num_hidden_layers",
        "num_attention_heads",
        "num_key_value_heads",
        "head_dim",
        "sliding_window",
        "attention_k_eq_v",
        "num_kv_shared_layers",
        "use_double_wide_mlp",
        "hidden_size_per_layer_input",
        "final_logit_softcapping",
    ],
)
def test_a_key_whose_default_would_be_a_guess_must_be_there(least, key):
    del least[key]
    with pytest.raises(UnsupportedModel, match=key):
        read(least)


def test_what_everybody_agrees_on_may_be_absent(least):
    config = read(least)
    assert (config.eps, config.tied, config.pad, config.experts, config.per_layer) == (
        1e-6,
        True,
        0,
        None,
        None,
    )


def test_null_is_as_good_as_absent(least):
    nulls = ("num_global_key_value_heads", "rope_parameters", "num_experts", "use_bidirectional_attention")
    assert read({**least, **dict.fromkeys(nulls)}) == read(least)


def test_a_text_network_reads_the_same_alone_and_in_a_whole_model(least):
    assert read({"model_type": "gemma4", "text_config": least}) == read(least)


def test_the_vocabulary_beside_the_text_network_does_not_count(least):
    assert read({"model_type": "gemma4", "vocab_size": 262144, "text_config": least}).vocabulary == 211


@pytest.mark.parametrize("kind", MODEL_TYPES)
def test_every_model_type_is_read(least, kind):
    assert read({**least, "model_type": kind}).layers


def test_kinds_of_layers_differ_in_heads_window_and_rotation(dense):
    sliding, _, full = read(dense).layers
    assert (sliding.window, sliding.head_dim, sliding.kv_heads, sliding.values_are_keys) == (8, 32, 2, False)
    assert (sliding.rope.theta, sliding.rope.turned) == (1e4, 1.0)
    assert (full.window, full.head_dim, full.kv_heads, full.values_are_keys) == (None, 64, 1, True)
    assert (full.rope.theta, full.rope.turned) == (1e6, 0.25)


def test_global_heads_count_only_where_values_are_keys(dense):
    assert read({**dense, "attention_k_eq_v": False}).layers[2].kv_heads == 2
    assert read({**dense, "num_global_key_value_heads": None}).layers[2].kv_heads == 2


def test_full_layers_have_512_dimensions_unless_told(least):
    del least["global_head_dim"]
    assert read(least).layers[2].head_dim == 512


def test_rotation_is_read_for_each_kind(least):
    ropes = {FULL: {"rope_type": "proportional", "rope_theta": 5e5, "partial_rotary_factor": 0.5}}
    sliding, _, full = read({**least, "rope_parameters": ropes}).layers
    assert (sliding.rope.theta, full.rope.theta, full.rope.turned) == (1e4, 5e5, 0.5)


def test_layers_follow_a_pattern_where_they_are_not_listed(least):
    del least["layer_types"]
    found = read({**least, "num_hidden_layers": 6, "sliding_window_pattern": 3}).layers
    assert [layer.window for layer in found] == [8, 8, None, 8, 8, None]


def test_the_last_layers_read_keys_of_the_last_of_their_kind(least):
    keys = {
        "num_hidden_layers": 8,
        "layer_types": [SLIDING, FULL, SLIDING, FULL, SLIDING, SLIDING, FULL, SLIDING],
        "num_kv_shared_layers": 4,
        "use_double_wide_mlp": True,
    }
    config = read({**least, **keys})
    assert [layer.source for layer in config.layers] == [None] * 4 + [2, 2, 3, 2]
    assert [layer.inner for layer in config.layers] == [96] * 4 + [192] * 4
    assert config.own_layers == config.layers[:4]
    narrow = read({**least, **keys, "use_double_wide_mlp": False})
    assert {layer.inner for layer in narrow.layers} == {96}


@pytest.mark.parametrize("off", [None, 0, 0.0])
def test_a_soft_cap_may_be_off(least, off):
    assert read({**least, "final_logit_softcapping": off}).soft_cap is None


def test_placeholders_are_read_beside_the_text_network(unified_dense):
    assert read(unified_dense).placeholders == (200, 201, 202)
    assert read({**unified_dense, "audio_token_id": None}).placeholders == (200, 202)


@pytest.mark.parametrize(
    ("kind", "asked", "overlay"),
    [
        ("gemma4", {}, "none"),
        ("gemma4", {"use_bidirectional_attention": None}, "none"),
        ("gemma4", {"use_bidirectional_attention": "vision"}, "sliding"),
        ("gemma4_unified", {}, "all"),
        ("gemma4_unified", {"use_bidirectional_attention": None}, "none"),
        ("gemma4_unified", {"use_bidirectional_attention": "vision"}, "all"),
    ],
)
def test_images_look_ahead_where_the_model_asks_for_it(least, kind, asked, overlay):
    config = read({"model_type": kind, "text_config": {**least, **asked}})
    assert config.overlay == overlay
    assert whole_images(config) is (overlay != "none")


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"hidden_activation": "silu"}, "hidden_activation"),
        ({"attention_bias": True}, "attention_bias"),
        ({"layer_types": [SLIDING, FULL]}, "2 layer_types for 3 layers"),
        ({"layer_types": ["chunked_attention"] * 3}, "layer_types"),
        ({"layer_types": None}, "sliding_window_pattern"),
        ({"layer_types": None, "sliding_window_pattern": 2}, "the pattern is 2"),
        ({"num_kv_shared_layers": 1}, "no layer of type 'full_attention'"),
        ({"num_kv_shared_layers": 3}, "num_kv_shared_layers 3"),
        ({"num_kv_shared_layers": 9}, "num_kv_shared_layers 9"),
        ({"num_key_value_heads": 3}, "no multiple of the 3"),
        ({"head_dim": 33}, "33 dimensions"),
        ({"enable_moe_block": True}, "num_experts"),
        (
            {"enable_moe_block": True, "num_experts": 2, "top_k_experts": 3, "moe_intermediate_size": 8},
            "at most",
        ),
        ({"hidden_size_per_layer_input": 8}, "vocab_size_per_layer_input"),
        ({"hidden_size_per_layer_input": 8, "vocab_size_per_layer_input": 9}, "it is 9"),
        ({"rope_parameters": {FULL: {"rope_type": "yarn", "rope_theta": 1e6}}}, "rope_type"),
        ({"rope_parameters": {FULL: {"rope_theta": 1e6, "factor": 2.0}}}, "factor 2.0"),
        ({"rope_parameters": {SLIDING: {"rope_theta": 1e4, "partial_rotary_factor": 0.5}}}, "0.5"),
        ({"final_logit_softcapping": -1.0}, "final_logit_softcapping"),
        ({"use_bidirectional_attention": "all"}, "use_bidirectional_attention"),
        ({"text_config": 5}, "text_config must be an object, not int"),
        ({"model_type": "gemma4_assistant"}, "model_type"),
    ],
)
def test_what_is_not_supported_is_refused_by_name(least, keys, message):
    with pytest.raises(UnsupportedModel, match=message):
        read({**least, **keys})
