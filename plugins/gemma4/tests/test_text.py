"""What the network does that a plain llama does not."""

import mlx.core as mx
import pytest

from mlxp_core.kv import BatchCache, FullCache, PlainPolicy, SlidingCache, forward
from mlxp_core.testing.networks import load, parameters, random_parameters
from mlxp_gemma4.config import Experts, read
from mlxp_gemma4.experts import Router
from mlxp_gemma4.text import Gemma4

TOKENS = mx.array([[3, 200, 14, 15, 201, 92]], dtype=mx.int32)


def built(raw, seed=5):
    network = Gemma4(read(raw))
    load(network, random_parameters(network, seed))
    return network


def run(network, tokens, embeddings=None):
    cache = BatchCache(network.make_caches(PlainPolicy(mx.float32)))
    return forward(network, cache, tokens, embeddings=embeddings)


def test_only_layers_with_keys_of_their_own_have_caches(per_layer):
    network = built(per_layer["config"])
    kinds = [type(cache) for cache in network.make_caches(PlainPolicy(mx.float32))]
    assert kinds == [SlidingCache, SlidingCache, FullCache]
    owners = {name.split(".")[2] for name in parameters(network) if ".k_proj." in name}
    assert owners == {"0", "1", "2"}


def test_values_made_from_keys_have_no_projection(dense):
    names = parameters(built(dense))
    assert "model.layers.0.self_attn.v_proj.weight" in names
    assert "model.layers.2.self_attn.v_proj.weight" not in names


def test_the_scale_of_embeddings_is_rounded_to_their_type(least):
    network = built({**least, "hidden_size": 96})
    network.set_dtype(mx.bfloat16)
    scale = mx.array(96**0.5).astype(mx.bfloat16)
    assert scale.item() != 96**0.5
    assert mx.array_equal(network.embed(TOKENS), network.model.embed_tokens(TOKENS) * scale)


@pytest.mark.parametrize("cap", [None, 5.0])
def test_logits_are_bounded_by_the_soft_cap(least, cap):
    network = built({**least, "final_logit_softcapping": cap})
    hidden = 100 * mx.random.normal((1, 64), key=mx.random.key(0))
    plain = network.model.embed_tokens.as_linear(hidden)
    expected = plain if cap is None else cap * mx.tanh(plain / cap)
    assert mx.abs(plain).max() > 5
    assert mx.allclose(network.logits(hidden), expected, atol=1e-4)


def with_placeholders(per_layer, pad=7):
    text = {**per_layer["config"], "pad_token_id": pad}
    return built({"model_type": "gemma4", "image_token_id": 200, "audio_token_id": 201, "text_config": text})


def test_placeholders_take_the_per_layer_embedding_of_padding(per_layer):
    network = with_placeholders(per_layer)
    padded = mx.where((TOKENS == 200) | (TOKENS == 201), 7, TOKENS)
    features = mx.random.normal((1, 6, 64), key=mx.random.key(2))
    assert mx.array_equal(run(network, TOKENS, features), run(network, padded, features))
    assert not mx.allclose(run(network, TOKENS, features), run(network, TOKENS + 1, features), atol=1e-2)


def test_image_features_reach_every_layer(per_layer):
    network = with_placeholders(per_layer)
    x = network.embed(TOKENS)
    changed = mx.concatenate([x[:, :1], x[:, 1:2] + 1, x[:, 2:]], axis=1)
    for before, after in zip(
        network.model.per_layer(TOKENS, x), network.model.per_layer(TOKENS, changed), strict=True
    ):
        assert mx.array_equal(before[:, 0], after[:, 0])
        assert not mx.allclose(before[:, 1], after[:, 1], atol=1e-2)


def test_a_router_chooses_the_best_and_its_shares_are_scaled():
    router, x = Router(16, Experts(5, 2, 8), 1e-6), mx.random.normal((2, 3, 16), key=mx.random.key(3))
    router.per_expert_scale = mx.array([1.0, 2.0, 3.0, 4.0, 5.0])
    indices, shares = router(x)
    normed = x / mx.sqrt((x * x).mean(axis=-1, keepdims=True) + 1e-6)
    chances = mx.softmax(router.proj(normed * 16**-0.5), axis=-1)
    assert mx.array_equal(mx.sort(indices, axis=-1), mx.sort(mx.argsort(-chances, axis=-1)[..., :2], axis=-1))
    best = mx.take_along_axis(chances, indices, axis=-1)
    expected = best / best.sum(axis=-1, keepdims=True) * (indices + 1)
    assert mx.allclose(shares, expected, atol=1e-5)


def test_shares_of_experts_are_float32_in_any_type():
    router = Router(16, Experts(5, 2, 8), 1e-6)
    router.set_dtype(mx.bfloat16)
    assert router(mx.ones((1, 16), dtype=mx.bfloat16))[1].dtype == mx.float32


def network_in_float32(recorded):
    network = built(recorded["config"])
    return network.logits(run(network, TOKENS))


def test_sixteen_bits_stay_sixteen_bits(per_layer, routed):
    for recorded in (per_layer, routed):
        network = built(recorded["config"])
        network.set_dtype(mx.bfloat16)
        cache = BatchCache(network.make_caches(PlainPolicy(mx.bfloat16)))
        logits = network.logits(forward(network, cache, TOKENS))
        assert logits.dtype == mx.bfloat16
        assert mx.allclose(logits, network_in_float32(recorded), atol=0.5)
