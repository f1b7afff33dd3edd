"""The draft head reads along with images: whatever the cuts, it guesses what it would have guessed by itself."""

import mlx.core as mx
import pytest

from mlxp_core.contracts import ImageSpan, Inputs
from mlxp_core.engine.speculation.drafters import HeadDrafter
from mlxp_core.kv import BatchCache, PlainPolicy, forward
from mlxp_core.testing.networks import load, random_parameters
from mlxp_qwen35.config import read
from mlxp_qwen35.mtp import Predictor

SPANS = (ImageSpan(5, 12, (1, 3, 4)), ImageSpan(21, 10, (1, 5, 2)))
LENGTH, GUESSES = 40, 3
NEXT = (7, 11, 13, 17)
"""What is drawn behind the prompt, and behind each guess."""


@pytest.fixture
def keys(either):
    """The configuration of a network that looks hard at places."""
    rope = {**either["rope_parameters"], "partial_rotary_factor": 1.0, "rope_theta": 50.0}
    return {**either, "rope_parameters": {**rope, "mrope_section": [6, 5, 5]}, "mtp_num_hidden_layers": 1}


@pytest.fixture
def model(network, keys):
    return network(keys)


@pytest.fixture
def head(keys):
    made = Predictor(read(keys))
    load(made, random_parameters(made, 5))
    made.layers[0].self_attn["q_norm"].weight = mx.full((32,), 2.0)
    return made


@pytest.fixture
def prompt(model):
    """Tokens, and embeddings with noise in place of the images' features."""
    tokens = mx.random.randint(0, 211, (1, LENGTH), key=mx.random.key(3))
    features = mx.random.normal((1, LENGTH, 64), key=mx.random.key(4))
    places = mx.arange(LENGTH)
    inside = sum(((places >= span.start) & (places < span.end)) for span in SPANS)[None, :, None] > 0
    return tokens, mx.where(inside, features, model.embed(tokens))


def row(model, drafter=None):
    return BatchCache(model.make_caches(PlainPolicy(mx.float32)), drafter=drafter)


def followed(model, head, prompt, chunk, spans=(SPANS,)):
    """Return a row that has read a prompt in chunks, and a head with it."""
    cache = row(model, HeadDrafter(model, head))
    for begin in range(0, LENGTH, chunk):
        tokens, embeddings = (part[:, begin : begin + chunk] for part in prompt)
        forward(model, cache, tokens, embeddings=embeddings, images=spans)
    return cache


def scores(model, cache):
    """Return what the head scores for each guess, ``[rows, guesses, vocabulary]``, if those of ``NEXT`` are drawn."""
    found = []

    def draw(given):
        found.append(given)
        return mx.full((cache.rows,), NEXT[len(found)], dtype=mx.int32)

    cache.drafter.ahead(cache, mx.full((cache.rows,), NEXT[0], dtype=mx.int32), GUESSES, draw)
    return mx.stack(found, axis=1)


def by_itself(model, head, prompt):
    """Return the same of a head that reads the whole prompt at once, and then its own guesses."""
    tokens, embeddings = prompt
    hidden = forward(model, row(model), tokens, embeddings=embeddings, images=(SPANS,))
    caches, start, found = head.make_caches(PlainPolicy(mx.float32)), 0, []
    behind = mx.concatenate([embeddings[:, 1:], model.embed(mx.array([NEXT[:1]]))], axis=1)
    for place in range(GUESSES):
        at = BatchCache([], [start]).begin([behind.shape[1]], behind.shape[1])
        images = (SPANS,) if start == 0 else ((),)
        hidden = head(Inputs(tokens=tokens, at=at, embeddings=behind, images=images), hidden, caches)[:, -1:]
        found.append(model.logits(hidden[:, -1]))
        start = LENGTH + place
        behind = model.embed(mx.array([NEXT[place + 1 : place + 2]]))
        hidden = hidden[:, -1:]
    return mx.stack(found, axis=1)


@pytest.mark.parametrize("chunk", [1, 3, 7, 16, LENGTH])
def test_a_prompt_with_images_may_be_cut_anywhere(model, head, prompt, chunk):
    found = scores(model, followed(model, head, prompt, chunk))
    assert mx.allclose(found, by_itself(model, head, prompt), atol=1e-3)


def test_places_of_images_matter_to_it(model, head, prompt):
    cache = followed(model, head, prompt, 7, ((),))
    assert not mx.allclose(scores(model, cache), by_itself(model, head, prompt), atol=1e-2)


def test_rows_with_images_and_without_go_on_together(model, head, prompt):
    """A row of text joins, both are frozen and thawed, and passes that guess read past the images."""
    batch, alone = (followed(model, head, prompt, 16) for _ in range(2))
    text, other = ((followed(model, head, prompt, 40, ((),))) for _ in range(2))
    batch.join(row(model, batch.drafter).thaw(text.freeze(0)))
    batch.keep([1, 0])
    for cache, images in ((batch, ((), SPANS)), (alone, (SPANS,)), (other, ((),))):
        tokens = mx.full((cache.rows, 4), 9, dtype=mx.int32)
        forward(model, cache, tokens, images=images, revocable=True)
        for place in range(cache.rows):
            assert cache.trim(place, 2)
    expected = mx.concatenate([scores(model, other), scores(model, alone)])
    assert mx.allclose(scores(model, batch), expected, atol=1e-3)
