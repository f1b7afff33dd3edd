"""Sizes of the released models; arrays are described, never computed."""

import pytest

from mlxp_core.testing.networks import parameters
from mlxp_gemma4.config import read
from mlxp_gemma4.need import need
from mlxp_gemma4.text import Gemma4

COMMON = {
    "model_type": "gemma4_text",
    "vocab_size": 262144,
    "vocab_size_per_layer_input": 262144,
    "head_dim": 256,
    "final_logit_softcapping": 30.0,
}
SMALL = {
    **COMMON,
    "num_attention_heads": 8,
    "sliding_window": 512,
    "attention_k_eq_v": False,
    "hidden_size_per_layer_input": 256,
}
LARGE = {
    **COMMON,
    "sliding_window": 1024,
    "sliding_window_pattern": 6,
    "attention_k_eq_v": True,
    "hidden_size_per_layer_input": 0,
    "num_kv_shared_layers": 0,
    "use_double_wide_mlp": False,
}
RELEASED = {
    "E2B": {
        **SMALL,
        "hidden_size": 1536,
        "num_hidden_layers": 35,
        "intermediate_size": 6144,
        "num_key_value_heads": 1,
        "sliding_window_pattern": 5,
        "num_kv_shared_layers": 20,
        "use_double_wide_mlp": True,
    },
    "E4B": {
        **SMALL,
        "hidden_size": 2560,
        "num_hidden_layers": 42,
        "intermediate_size": 10240,
        "num_key_value_heads": 2,
        "sliding_window_pattern": 6,
        "num_kv_shared_layers": 18,
        "use_double_wide_mlp": False,
    },
    "12B": {
        **LARGE,
        "model_type": "gemma4_unified_text",
        "hidden_size": 3840,
        "num_hidden_layers": 48,
        "intermediate_size": 15360,
        "num_attention_heads": 16,
        "num_key_value_heads": 8,
        "num_global_key_value_heads": 1,
    },
    "26B-A4B": {
        **LARGE,
        "hidden_size": 2816,
        "num_hidden_layers": 30,
        "intermediate_size": 2112,
        "num_attention_heads": 16,
        "num_key_value_heads": 8,
        "num_global_key_value_heads": 2,
        "enable_moe_block": True,
        "num_experts": 128,
        "top_k_experts": 8,
        "moe_intermediate_size": 704,
    },
    "31B": {
        **LARGE,
        "hidden_size": 5376,
        "num_hidden_layers": 60,
        "intermediate_size": 21504,
        "num_attention_heads": 32,
        "num_key_value_heads": 16,
        "num_global_key_value_heads": 4,
    },
}


@pytest.mark.parametrize("name", RELEASED)
def test_weights_of_released_models_are_counted_one_by_one(name):
    config = read(RELEASED[name])
    assert need(config, 1).weights == sum(value.size for value in parameters(Gemma4(config)).values())


@pytest.mark.parametrize(
    ("name", "billions"), [("E2B", 4.6), ("E4B", 7.5), ("12B", 11.9), ("26B-A4B", 25.2), ("31B", 30.7)]
)
def test_released_models_have_their_published_sizes(name, billions):
    assert need(read(RELEASED[name]), 1).weights / 1e9 == pytest.approx(billions, abs=0.1)


def kept(name, *, window):
    return sum(layer.values for layer in need(read(RELEASED[name]), 2).layers if layer.window == window)


def test_only_layers_with_keys_of_their_own_keep_any():
    assert kept("E2B", window=None) == 3 * 2 * 512  # layers 4, 9 and 14
    assert kept("E2B", window=512) == 12 * 2 * 256


def test_values_that_are_keys_are_kept_all_the_same():
    assert kept("31B", window=None) == 10 * 2 * 4 * 512


def test_experts_that_a_token_does_not_visit_are_idle():
    asked = need(read(RELEASED["26B-A4B"]), 1)
    assert (asked.weights - asked.idle) / 1e9 == pytest.approx(4, abs=0.3)
    assert need(read(RELEASED["12B"]), 1).idle == 0
