"""Images in prompts: any cut, any batch, decoding behind them; and the places that transformers gives them."""

import json

import mlx.core as mx
import pytest

from mlxp_core.contracts import ImageSpan
from mlxp_core.kv import BatchCache, PlainPolicy, forward
from mlxp_qwen35.positions import lay_out

SPANS = (ImageSpan(5, 12, (1, 3, 4)), ImageSpan(21, 10, (1, 5, 2)))
LENGTH = 40


def begin(model):
    return BatchCache(model.make_caches(PlainPolicy(mx.float32)))


@pytest.fixture
def model(network, either):
    """A network that looks hard at places: whole heads turn, quickly, and attention is sharp."""
    rope = {
        **either["rope_parameters"],
        "partial_rotary_factor": 1.0,
        "rope_theta": 50.0,
        "mrope_section": [6, 5, 5],
    }
    made = network({**either, "rope_parameters": rope})
    for norm in ("q_norm", "k_norm"):
        made.model.layers[3].self_attn[norm].weight = mx.full((32,), 2.0)
    return made


@pytest.fixture
def prompt(model):
    """Tokens, and embeddings with noise in place of the images' features."""
    tokens = mx.random.randint(0, 211, (1, LENGTH), key=mx.random.key(3))
    features = mx.random.normal((1, LENGTH, 64), key=mx.random.key(4))
    places = mx.arange(LENGTH)
    inside = sum(((places >= span.start) & (places < span.end)) for span in SPANS)[None, :, None] > 0
    return tokens, mx.where(inside, features, model.embed(tokens))


def read(model, cache, prompt, begin_at, end, spans=(SPANS,)):
    tokens, embeddings = (part[:, begin_at:end] for part in prompt)
    return model.logits(forward(model, cache, tokens, embeddings=embeddings, images=spans))


@pytest.mark.parametrize("chunk", [1, 3, 7, 16])
def test_a_prompt_with_images_may_be_cut_anywhere(model, prompt, chunk):
    whole = read(model, begin(model), prompt, 0, LENGTH)
    cache = begin(model)
    parts = [read(model, cache, prompt, at, min(at + chunk, LENGTH)) for at in range(0, LENGTH, chunk)]
    assert mx.allclose(mx.concatenate(parts, axis=1), whole, atol=1e-3)


def test_places_matter(model, prompt):
    turned = tuple(ImageSpan(span.start, span.count, (1, span.grid[2], span.grid[1])) for span in SPANS)
    whole = read(model, begin(model), prompt, 0, LENGTH)
    assert not mx.allclose(read(model, begin(model), prompt, 0, LENGTH, (turned,)), whole, atol=1e-2)
    assert not mx.allclose(read(model, begin(model), prompt, 0, LENGTH, ()), whole, atol=1e-2)


def test_what_images_shift_outlives_the_prompt_and_stays_with_the_row(model, prompt):
    """Behind a prompt with images, tokens are placed alike whether the engine still tells of the images or not."""
    alone, batch, other = begin(model), begin(model), begin(model)
    for cache in (alone, batch):
        read(model, cache, prompt, 0, LENGTH)
    text = mx.random.randint(0, 211, (1, 9), key=mx.random.key(5))
    forward(model, other, text)
    batch.join(begin(model).thaw(other.freeze(0)))
    batch.keep([1, 0])
    for token in range(3):
        step = mx.array([[token]])
        expected = [
            forward(model, cache, step, images=images) for cache, images in ((other, ()), (alone, (SPANS,)))
        ]
        found = forward(model, batch, mx.concatenate([step, step]))
        assert mx.allclose(found, mx.concatenate(expected), atol=1e-4)


def test_a_recorded_image_takes_the_places_that_transformers_gives_it(shared):
    recorded = json.loads((shared / "tools" / "checkpoints" / "tiny_oracle.json").read_text())
    expected = recorded["qwen35"]["transformers_image_float32"]
    axes, shift = lay_out(0, 92, 92, [ImageSpan(4, 80, (1, 8, 10))])
    assert [axis[-9:] for axis in axes] == expected["mrope_positions_tail"]
    assert [[shift]] == expected["rope_delta"]


def test_rows_behind_images_go_back_beside_others(model, prompt):
    """What guesses read in vain is taken back, in a row that has seen images and in its neighbour."""
    tokens, _ = prompt

    def batch():
        cache = begin(model)
        read(model, cache, prompt, 0, LENGTH)
        other = begin(model)
        forward(model, other, tokens[:, :9])
        cache.join(other)
        return cache

    cache, expected = batch(), batch()
    guesses = mx.array([[3, 50, 60, 70], [4, 80, 90, 11]])
    forward(model, cache, guesses, images=(SPANS, ()), revocable=True)
    assert cache.trim(0, 3)
    assert cache.trim(1, 2)
    forward(model, expected, guesses[:, :2], counts=[1, 2], images=(SPANS, ()))
    more = mx.array([[5, 6], [7, 8]])
    found, known = (
        model.logits(forward(model, each, more, images=(SPANS, ()))) for each in (cache, expected)
    )
    assert mx.allclose(found, known, atol=1e-3)
