import pytest

from mlxp_core.contracts import FolderFacts
from mlxp_core.errors import UnsupportedModel
from mlxp_minicpm5.config import need, read, recognize

LEAST = {
    "vocab_size": 1000,
    "hidden_size": 96,
    "intermediate_size": 256,
    "num_hidden_layers": 2,
    "num_attention_heads": 6,
}
MINICPM5_1B = {
    "vocab_size": 130560,
    "hidden_size": 1536,
    "intermediate_size": 4608,
    "num_hidden_layers": 24,
    "num_attention_heads": 16,
    "num_key_value_heads": 2,
    "head_dim": 128,
}


def test_absent_keys_have_the_defaults_of_llama():
    config = read(LEAST)
    assert (config.kv_heads, config.head_dim, config.theta, config.eps) == (6, 16, 10000.0, 1e-6)
    assert (config.tied, config.attention_bias, config.mlp_bias) == (False, False, False)


def test_null_is_as_good_as_absent():
    nulls = dict.fromkeys(("head_dim", "num_key_value_heads", "rope_scaling", "rope_parameters"))
    assert read({**LEAST, **nulls}) == read(LEAST)


def test_a_head_need_not_divide_the_width():
    config = read({**LEAST, "head_dim": 128, "num_key_value_heads": 2})
    assert (config.head_dim, config.kv_heads) == (128, 2)


@pytest.mark.parametrize(
    "keys",
    [
        {"rope_theta": 5e6},
        {"rope_parameters": {"rope_type": "default", "rope_theta": 5e6}},
        {"rope_theta": 5e6, "rope_scaling": {"type": "default"}},
    ],
    ids=["older", "newer", "default scaling"],
)
def test_the_base_is_read_from_either_place(keys):
    assert read({**LEAST, **keys}).theta == 5e6


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"rope_scaling": {"type": "linear", "factor": 2.0}}, "rope_scaling of type 'linear'"),
        ({"rope_parameters": {"rope_type": "yarn"}}, "rope_parameters of type 'yarn'"),
        ({"rope_parameters": {"partial_rotary_factor": 0.5}}, "partial_rotary_factor 0.5"),
        ({"hidden_act": "gelu"}, "hidden_act"),
        ({"num_key_value_heads": 4}, "num_key_value_heads 4"),
        ({"head_dim": 15}, "head_dim 15"),
        ({"hidden_size": 0}, "hidden_size"),
        ({"vocab_size": "many"}, "vocab_size"),
    ],
)
def test_what_is_not_supported_is_refused_by_name(keys, message):
    with pytest.raises(UnsupportedModel, match=message):
        read({**LEAST, **keys})


def test_a_missing_size_is_named():
    with pytest.raises(UnsupportedModel, match="intermediate_size"):
        read({key: value for key, value in LEAST.items() if key != "intermediate_size"})


def test_the_released_model_has_its_published_size():
    assert need(read(MINICPM5_1B), 1).weights == 1_080_632_832


def test_keys_and_values_are_counted_per_token():
    assert sum(layer.values for layer in need(read(MINICPM5_1B), 2).layers) == 2 * 24 * 2 * 128


def facts(template="", special=()):
    return FolderFacts(config=LEAST, template=template, special_tokens=frozenset(special))


def test_it_is_told_from_other_llamas_by_how_it_calls_tools():
    assert recognize(facts(special=["<function", "<param", "</param>"]))
    assert recognize(facts(template="... <function name=\"' + call.name"))
    assert not recognize(facts(special=["<function"]))
    assert not recognize(facts(template="{{ messages }}", special=["<|im_end|>"]))
