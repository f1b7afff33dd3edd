"""How images become pixels: their new size, against its definition and what transformers makes of them."""

import json
from math import isqrt

import mlx.core as mx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from mlxp_core.errors import BadRequest, UnsupportedModel
from mlxp_core.testing.pictures import chequered
from mlxp_gemma4.eyes.config import Cut
from mlxp_gemma4.eyes.images import grid_of, preparer
from mlxp_gemma4.eyes.patches import patches_of

CUT = Cut(side=48, longest=3413, budget=280)
SIZES = [
    ((768, 768), (768, 768), 256),
    ((96, 96), (768, 768), 256),
    ((1920, 1080), (1056, 576), 264),
    ((640, 480), (912, 672), 266),
    ((4032, 3024), (912, 672), 266),
    ((100, 2000), (144, 3552), 222),
    ((5000, 10), (13440, 48), 280),
    ((1, 1), (768, 768), 256),
]
"""(width, height) of an image, those it is brought to, and its tokens."""

lengths = st.integers(1, 20_000)
budgets = st.sampled_from([1, 70, 140, 280, 560, 1120])


def picture(width, height):
    """The picture that the recorded numbers are of."""
    reds = bytes(x * 255 // (width - 1) for x in range(width))
    blues = [bytes((x // 7 + odd) % 2 * 200 + 20 for x in range(width)) for odd in (0, 1)]
    lines, line = [], bytearray(3 * width)
    for y in range(height):
        greens = bytes([y * 255 // (height - 1)]) * width
        line[0::3], line[1::3], line[2::3] = reds, greens, blues[y // 5 % 2]
        lines.append(bytes(line))
    return Image.frombytes("RGB", (width, height), b"".join(lines))


def pixels_of(prepared):
    return mx.array(memoryview(prepared.values)).reshape(prepared.shape)


@pytest.mark.parametrize(("given_size", "size", "tokens"), SIZES)
def test_images_get_the_size_the_model_was_trained_on(given_size, size, tokens):
    prepared = preparer(CUT, {}).prepare(Image.new("RGB", given_size), "a digest")
    width, height = size
    assert prepared.shape == (height, width, 3)
    assert prepared.tokens == tokens
    assert prepared.grid == (1, height // 48, width // 48)
    assert prepared.digest == "a digest"


@given(lengths, lengths, budgets)
def test_the_budget_is_kept_and_used(height, width, budget):
    rows, columns = grid_of(height, width, budget, 48)
    assert 1 <= rows * columns <= budget
    for found, along, across in ((rows, height, width), (columns, width, height)):
        square = budget * along / across  # of the exact length, in tokens
        if budget * across < along:
            assert found == min(along // across, budget)
        elif square >= 1:
            exact = isqrt(budget * along // across)
            assert found == exact or (found == exact - 1 and exact**2 == square)


@given(lengths, lengths, budgets)
def test_a_turned_image_gets_the_turned_grid(height, width, budget):
    rows, columns = grid_of(height, width, budget, 48)
    assert grid_of(width, height, budget, 48) == (columns, rows)


def test_an_image_of_the_right_size_is_not_touched():
    image = chequered(96, 144)
    prepared = preparer(CUT, {"max_soft_tokens": 6}).prepare(image, "")
    assert prepared.grid == (1, 3, 2)
    assert prepared.values == image.tobytes()


def test_images_are_resized_as_the_settings_say():
    image = chequered(40, 30)
    for resample in (Image.Resampling.BILINEAR, Image.Resampling.BICUBIC):
        prepared = preparer(CUT, {"resample": int(resample)}).prepare(image, "")
        assert prepared.values == image.resize((912, 672), resample).tobytes()
    assert preparer(CUT, {}).prepare(image, "").values == prepared.values


def test_an_image_longer_than_there_are_positions_is_refused():
    eyes = preparer(Cut(side=48, longest=85, budget=280), {})
    assert eyes.prepare(Image.new("RGB", (20, 500)), "").grid == (1, 83, 3)
    with pytest.raises(BadRequest, match="5 by 500 pixels would be 1 by 167 tokens"):
        eyes.prepare(Image.new("RGB", (5, 500)), "")


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"do_rescale": False}, "from 0 to 1"),
        ({"rescale_factor": 1 / 127.5}, "from 0 to 1"),
        ({"do_normalize": True, "image_mean": [0.5, 0.5, 0.5]}, "from 0 to 1"),
        ({"do_normalize": True, "image_std": [0.5, 0.5, 0.5]}, "from 0 to 1"),
        ({"max_soft_tokens": 0}, "max_soft_tokens"),
        ({"resample": 99}, "resample"),
    ],
)
def test_settings_that_mean_other_pixels_are_refused(settings, named):
    with pytest.raises(UnsupportedModel, match=named):
        preparer(CUT, settings)


def test_settings_that_mean_the_same_pixels_are_fine():
    plain = {
        "do_normalize": True,
        "image_mean": [0.0] * 3,
        "image_std": [1.0] * 3,
        "rescale_factor": 0.00392156862745098,
    }
    unused = {"do_normalize": False, "image_mean": [0.5] * 3, "image_std": [0.5] * 3}
    assert preparer(CUT, plain) == preparer(CUT, unused) == preparer(CUT, {})


def test_an_image_stands_between_its_marks():
    eyes = preparer(CUT, {})
    expansion = eyes.expand(eyes.prepare(Image.new("RGB", (9, 9)), ""))
    assert (expansion.before, expansion.each, expansion.after) == ("<|image>", "<|image|>", "<image|>")
    assert eyes.placeholder == "<|image|>"


@settings(deadline=None)
@given(st.integers(1, 4), st.integers(1, 4), st.integers(1, 5))
def test_squares_are_cut_row_by_row(rows, columns, side):
    image = mx.random.randint(0, 256, (rows * side, columns * side, 3), key=mx.random.key(7)).astype(mx.uint8)
    squares = patches_of(image, side)
    assert squares.shape == (rows * columns, side * side * 3)
    for row in range(rows):
        for column in range(columns):
            square = image[row * side : (row + 1) * side, column * side : (column + 1) * side] / 255
            assert mx.array_equal(squares[row * columns + column], square.flatten())


def test_pixels_are_those_of_transformers(shared):
    recorded = json.loads((shared / "tools" / "checkpoints" / "preprocess_goldens.json").read_text())
    pictures = {size: picture(*size) for size in {tuple(golden["size_wh"]) for golden in recorded["gemma4"]}}
    assert len(pictures) == 8
    for golden in recorded["gemma4"]:
        image = pictures[tuple(golden["size_wh"])]
        prepared = preparer(CUT, {"max_soft_tokens": golden["max_soft_tokens"]}).prepare(image, "")
        columns, rows = golden["grid_wh"]
        assert prepared.grid == (1, rows // 3, columns // 3)
        assert prepared.tokens == golden["soft_tokens"]
        patches, numbers = patches_of(pixels_of(prepared), 16), golden["pixels"]
        assert list(patches.shape) == numbers["shape"]
        assert patches[0, :8].tolist() == pytest.approx(numbers["first8"], abs=1e-5)
        assert patches[5, :4].tolist() == pytest.approx(numbers["row5_first4"], abs=1e-5)
        assert patches.sum(axis=1).sum().item() == pytest.approx(numbers["sum"], rel=1e-5)
        assert (patches**2).sum(axis=1).sum().item() == pytest.approx(numbers["sumsq"], rel=1e-5)
