"""Which tokens of images see each other, against the rule written out pair by pair."""

import itertools

import mlx.core as mx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlxp_core.contracts import ImageSpan, Inputs
from mlxp_core.kv import BatchCache, BatchPositions, PlainPolicy, forward
from mlxp_core.testing.networks import load, random_parameters
from mlxp_gemma4.config import read
from mlxp_gemma4.overlay import overlays
from mlxp_gemma4.text import Gemma4

WINDOW = 8


def config_of(least, overlay):
    kind = "gemma4_unified" if overlay == "all" else "gemma4"
    asked = None if overlay == "none" else "vision"
    return read({"model_type": kind, "text_config": {**least, "use_bidirectional_attention": asked}})


@st.composite
def rows(draw):
    """Draw where a row stands, how many tokens are real, and the images around there."""
    start, count, place, spans = draw(st.integers(0, 30)), draw(st.integers(0, 20)), 0, []
    for _ in range(draw(st.integers(0, 3))):
        place += draw(st.integers(1, 15))
        size = draw(st.integers(1, 14))
        spans.append(ImageSpan(start=place, count=size, grid=(1, 1, size)))
        place += size
    return start, count, tuple(spans)


def image_of(position, spans):
    return next((span for span in spans if span.start <= position < span.start + span.count), None)


@settings(deadline=None)  # arrays on a busy machine
@given(st.lists(rows(), min_size=1, max_size=3), st.sampled_from(["sliding", "all"]))
def test_tokens_of_one_image_see_each_other_and_nobody_else(least_keys, drawn, kind):
    width, config = 20, config_of(least_keys, kind)
    starts, counts, spans = zip(*drawn, strict=True)
    at = BatchPositions(starts, counts, width)
    found = overlays(config, Inputs(tokens=mx.zeros((len(drawn), width)), at=at, images=spans))
    if not any(spans):
        assert found.sliding is None
        assert found.full is None
        return
    for row, (start, count, images) in enumerate(drawn):
        for i in range(width):
            for j in range(width):
                same = max(i, j) < count and image_of(start + i, images) is not None
                same = same and image_of(start + i, images) == image_of(start + j, images)
                if kind == "all":
                    assert found.full[row, i, j].item() is same
                assert found.sliding[row, i, j].item() is (same and (kind == "all" or i - j < WINDOW))
    assert (found.full is None) is (kind == "sliding")


def test_images_are_causal_unless_the_model_asks(least):
    at = BatchPositions([0], [4], 4)
    images = ((ImageSpan(start=0, count=4, grid=(1, 2, 2)),),)
    found = overlays(config_of(least, "none"), Inputs(tokens=mx.zeros((1, 4)), at=at, images=images))
    assert found.sliding is None
    assert found.full is None


@pytest.mark.parametrize("overlay", ["none", "sliding", "all"])
def test_a_pass_may_end_between_images_and_change_nothing(least, overlay):
    network = Gemma4(config_of(least, overlay))
    load(network, random_parameters(network, 5))
    tokens = mx.random.randint(0, 190, (1, 40), key=mx.random.key(1))
    spans = tuple(ImageSpan(start=start, count=12, grid=(1, 3, 4)) for start in (4, 20))

    def read_in(cuts):
        cache, parts = BatchCache(network.make_caches(PlainPolicy(mx.float32))), []
        for begin, end in itertools.pairwise(cuts):
            here = tuple(span for span in spans if span.start < end and span.start + span.count > begin)
            parts.append(forward(network, cache, tokens[:, begin:end], images=(here,)))
        return mx.concatenate(parts, axis=1)

    whole = read_in([0, 40])
    assert mx.allclose(read_in([0, 2, 18, 33, 39, 40]), whole, atol=1e-4)
    causal = forward(network, BatchCache(network.make_caches(PlainPolicy(mx.float32))), tokens)
    assert bool(mx.allclose(whole[:, 4:16], causal[:, 4:16], atol=1e-4)) is (overlay == "none")
    assert mx.allclose(whole[:, :4], causal[:, :4], atol=1e-4)
