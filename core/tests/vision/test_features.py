"""What was seen is kept, by model and image, up to a number of bytes; and it goes where it belongs."""

from types import SimpleNamespace

import mlx.core as mx
import pytest

from mlxp_core.contracts import ImageSpan, Pixels
from mlxp_core.engine.features import Features
from mlxp_core.errors import PluginError
from mlxp_core.prompting import Prompt

HIDDEN = 4


class Watched:
    """A shelf whose towers see as many rows of a number as the grid says, and count their looks."""

    def __init__(self, rows=0):
        self.looks, self.extra = [], rows

    def tower(self, model):
        def see(pixels, grid):
            self.looks.append((model, pixels.tolist()))
            place = mx.arange(grid[1] * grid[2] + self.extra)[:, None] / 100
            return mx.zeros((1, HIDDEN)) + pixels.sum() + place

        return see

    def __getitem__(self, model):
        return SimpleNamespace(
            model=SimpleNamespace(embed=lambda tokens: mx.zeros((*tokens.shape, HIDDEN)) - tokens[..., None])
        )


def dots(value, count=3):
    return Pixels(
        values=bytes([value]), shape=(1,), tokens=count, grid=(1, 1, count), digest=f"{value}:{count}"
    )


PROMPT = Prompt(
    tokens=(1, 9, 9, 9, 2, 3, 9, 9, 4),
    images=(dots(50), dots(70, 2)),
    spans=(ImageSpan(1, 3, (1, 1, 3)), ImageSpan(6, 2, (1, 1, 2))),
)
WHOLE = [-1, 50, 50.01, 50.02, -2, -3, 70, 70.01, -4]


@pytest.mark.parametrize("chunk", range(1, 10))
def test_features_stand_in_for_the_embeddings_of_their_tokens(chunk):
    features, found = Features(Watched()), []
    for start in range(0, len(PROMPT.tokens), chunk):
        tokens = mx.array(PROMPT.tokens[start : start + chunk])[None]
        made = features.embeddings("m", PROMPT, start, tokens)
        shown = any(span.start < start + tokens.shape[1] and span.end > start for span in PROMPT.spans)
        assert (made is not None) == shown
        found += (mx.zeros((1, tokens.shape[1], HIDDEN)) - tokens[..., None] if made is None else made)[
            0, :, 0
        ].tolist()
    assert found == pytest.approx(WHOLE)


def test_one_look_at_an_image_is_enough():
    shelf = Watched()
    features = Features(shelf)
    for start in range(len(PROMPT.tokens)):
        features.embeddings("m", PROMPT, start, mx.array([[PROMPT.tokens[start]]]))
    features.of("m", dots(50))
    assert shelf.looks == [("m", [50]), ("m", [70])]


def test_models_see_for_themselves():
    shelf = Watched()
    features = Features(shelf)
    for model in ("m", "n", "m"):
        features.of(model, dots(50))
    assert [model for model, _ in shelf.looks] == ["m", "n"]


def test_what_was_seen_longest_ago_is_forgotten_first():
    shelf = Watched()
    features = Features(shelf, limit_bytes=2 * 3 * HIDDEN * 4)
    for value in (1, 2, 1, 3, 1, 2):
        features.of("m", dots(value))
    assert [pixels for _, pixels in shelf.looks] == [[1], [2], [3], [2]]
    assert features.nbytes == 2 * 3 * HIDDEN * 4


def test_an_image_larger_than_all_that_may_be_kept_is_seen_all_the_same():
    features = Features(Watched(), limit_bytes=1)
    assert features.of("m", dots(5)).shape == (3, HIDDEN)
    assert features.nbytes == 0


def test_pixels_may_be_float32():
    pixels = Pixels(
        values=memoryview(b"\x00\x00\x80\x3f").tobytes(),
        shape=(1, 1),
        dtype="float32",
        tokens=1,
        grid=(1, 1, 1),
        digest="one",
    )
    assert Features(Watched()).of("m", pixels).tolist() == [[1.0] * HIDDEN]


def test_a_tower_that_breaks_its_word_is_found_out():
    features = Features(Watched(rows=1))
    with pytest.raises(
        PluginError, match=r"shape \[4, 4\] for an image of 3 tokens; they should be \[3, 4\]"
    ):
        features.embeddings("m", PROMPT, 0, mx.array([PROMPT.tokens[:4]]))


def test_forgetting_everything():
    shelf = Watched()
    features = Features(shelf)
    features.of("m", dots(5))
    features.clear()
    assert features.nbytes == 0
    features.of("m", dots(5))
    assert len(shelf.looks) == 2
