import mlx.core as mx
import pytest

from mlxp_core.testing.networks import parameters
from mlxp_minicpm5.config import read
from mlxp_minicpm5.text import MiniCPM5
from mlxp_minicpm5.weights import convert, rename


def test_names_stay_as_they_are():
    for name in ("model.embed_tokens.weight", "model.layers.3.mlp.down_proj.scales", "lm_head.weight"):
        assert rename(name) == name


def test_stored_rotary_periods_are_dropped():
    assert rename("model.layers.0.self_attn.rotary_emb.inv_freq") is None


@pytest.mark.parametrize("tied", [True, False])
def test_a_head_is_dropped_where_it_is_tied(llama_config, tied):
    weights = {"model.embed_tokens.weight": mx.zeros((2, 2)), "lm_head.weight": mx.zeros((2, 2))}
    convert(weights, read({**llama_config, "tie_word_embeddings": tied}))
    assert ("lm_head.weight" in weights) is not tied


def test_a_layer_is_named_as_adapters_expect(llama_config):
    names = {name for name in parameters(MiniCPM5(read(llama_config))) if ".layers.0." in name}
    layer = "model.layers.0"
    assert names == {
        *(f"{layer}.self_attn.{part}_proj.weight" for part in "qkvo"),
        *(f"{layer}.mlp.{part}_proj.weight" for part in ("gate", "up", "down")),
        f"{layer}.input_layernorm.weight",
        f"{layer}.post_attention_layernorm.weight",
    }
