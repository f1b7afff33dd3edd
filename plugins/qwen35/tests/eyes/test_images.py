"""How images become pixels: their new size, against its definition and what transformers makes of them."""

import json

import mlx.core as mx
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from PIL import Image

from mlxp_core.contracts import ImageSpan
from mlxp_core.errors import BadRequest, UnsupportedModel
from mlxp_core.prompting import Sight, Tokenizer
from mlxp_core.testing.pictures import chequered
from mlxp_qwen35.eyes.config import TowerConfig
from mlxp_qwen35.eyes.images import grid_of, preparer

CONFIG = TowerConfig(
    patch=16,
    frames=2,
    merge=2,
    positions=48,
    hidden=64,
    inner=64,
    layers=1,
    heads=1,
    theta=1e4,
    language=64,
)
LEAST, MOST = 256 * 256, 4096 * 4096
SIZES = [
    ((480, 336), (480, 320)),  # 10.5 soft tokens become 10, as halves are rounded to the even number
    ((480, 304), (480, 320)),  # 9.5 become 10 too
    ((640, 480), (640, 480)),
    ((1920, 1080), (1920, 1088)),
    ((8000, 6000), (4704, 3520)),
    ((1, 1), (256, 256)),
    ((200, 1), (3648, 32)),
]
"""(width, height) of an image, and those it is brought to."""

lengths = st.integers(1, 20_000)


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


def patches_of(prepared):
    """Return patches as transformers lists them: neighbours that are merged together, then colour by colour, twice."""
    values = mx.array(memoryview(prepared.values)).reshape(prepared.shape).astype(mx.float32) / 127.5 - 1
    _, rows, columns = prepared.grid
    blocks = values.reshape(rows, 2, 16, columns, 2, 16, 3).transpose(0, 3, 1, 4, 6, 2, 5)
    frame = blocks.reshape(rows * columns * 4, 3, 1, 16, 16)
    return mx.concatenate([frame, frame], axis=2).reshape(len(frame), -1)


@pytest.mark.parametrize(("given_size", "size"), SIZES)
def test_images_get_the_size_the_model_was_trained_on(given_size, size):
    prepared = preparer(CONFIG, {}).prepare(Image.new("RGB", given_size), "a digest")
    width, height = size
    assert prepared.shape == (height, width, 3)
    assert prepared.grid == (1, height // 32, width // 32)
    assert prepared.tokens == (height // 32) * (width // 32)
    assert prepared.digest == "a digest"


@given(lengths, lengths)
def test_an_image_gets_the_nearest_size_or_the_nearest_within_the_bounds(height, width):
    assume(max(height, width) <= 200 * min(height, width))
    rows, columns = grid_of(height, width, 32, LEAST, MOST)
    assert LEAST <= rows * columns * 32**2 <= MOST
    nearest = round(height / 32) * round(width / 32) * 32**2
    bound = min(max(nearest, LEAST), MOST)
    scale, most_off = (1, 0.5) if bound == nearest else ((bound / (height * width)) ** 0.5, 1)
    for found, length in ((rows, height), (columns, width)):
        assert abs(found - scale * length / 32) <= most_off


@given(lengths, lengths, st.sampled_from([(1, 1024), (LEAST, MOST), (10**6, 10**6)]))
def test_a_turned_image_gets_the_turned_grid(height, width, bounds):
    rows, columns = grid_of(height, width, 32, *bounds)
    assert min(rows, columns) >= 1
    assert grid_of(width, height, 32, *bounds) == (columns, rows)


def test_an_image_of_the_right_size_is_not_touched():
    image = chequered(320, 256)
    prepared = preparer(CONFIG, {}).prepare(image, "")
    assert prepared.grid == (1, 8, 10)
    assert prepared.values == image.tobytes()


def test_images_are_resized_as_the_settings_say():
    image = chequered(400, 300)
    for resample in (Image.Resampling.BILINEAR, Image.Resampling.BICUBIC):
        prepared = preparer(CONFIG, {"resample": int(resample)}).prepare(image, "")
        assert prepared.values == image.resize((384, 288), resample).tobytes()
    assert preparer(CONFIG, {}).prepare(image, "").values == prepared.values


@pytest.mark.parametrize(
    ("settings", "bounds"),
    [
        ({}, (LEAST, MOST)),
        ({"size": {"shortest_edge": 4096, "longest_edge": 10**6}}, (4096, 10**6)),
        ({"min_pixels": 4096, "max_pixels": 10**6}, (4096, 10**6)),
        ({"size": {"shortest_edge": 5, "longest_edge": 7}, "max_pixels": 10**6}, (5, 10**6)),
    ],
)
def test_settings_say_how_large_images_are(settings, bounds):
    eyes = preparer(CONFIG, settings)
    assert (eyes.least, eyes.most) == bounds


@pytest.mark.parametrize("size", [(10, 2001), (2001, 10)])
def test_an_image_too_slim_is_refused(size):
    width, height = size
    with pytest.raises(BadRequest, match=f"{width} by {height} pixels is more than 200 times"):
        preparer(CONFIG, {}).prepare(Image.new("RGB", size), "")


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"do_rescale": False}, "from -1 to 1"),
        ({"rescale_factor": 1 / 127.5}, "from -1 to 1"),
        ({"do_normalize": False}, "from -1 to 1"),
        ({"image_mean": [0.48, 0.46, 0.41]}, "from -1 to 1"),
        ({"image_std": [0.27, 0.26, 0.28]}, "from -1 to 1"),
        ({"do_resize": False}, "do_resize"),
        ({"patch_size": 14}, "patch_size is 14, but config.json's tower has 16"),
        ({"merge_size": 1}, "merge_size is 1, but config.json's tower has 2"),
        ({"resample": 99}, "resample"),
        ({"size": {"shortest_edge": 0}}, "shortest_edge"),
        ({"size": 224}, "size"),
        ({"min_pixels": 500, "max_pixels": 499}, "at least 500 pixels and at most 499"),
    ],
)
def test_settings_that_mean_other_pixels_are_refused(settings, named):
    with pytest.raises(UnsupportedModel, match=named):
        preparer(CONFIG, settings)


def test_settings_that_mean_the_same_pixels_are_fine():
    published = {
        "image_mean": [0.5] * 3,
        "image_std": [0.5] * 3,
        "image_processor_type": "Qwen2VLImageProcessorFast",
        "merge_size": 2,
        "patch_size": 16,
        "rescale_factor": 0.00392156862745098,
        "temporal_patch_size": 2,
        "size": {"longest_edge": 16777216, "shortest_edge": 65536},
    }
    assert preparer(CONFIG, published) == preparer(CONFIG, {})


def test_marks_around_an_image_are_the_templates():
    eyes = preparer(CONFIG, {})
    expansion = eyes.expand(eyes.prepare(Image.new("RGB", (9, 9)), ""))
    assert (expansion.before, expansion.each, expansion.after) == ("", "<|image_pad|>", "")
    assert eyes.placeholder == "<|image_pad|>"


def test_an_image_in_the_published_models_prompt_becomes_as_many_tokens_as_it_has(shared):
    folder, eyes = shared / "assets" / "qwen35", preparer(CONFIG, {})
    tokenizer = Tokenizer((folder / "tokenizer.json").read_bytes())
    recorded = json.loads((folder / "template_renders.json").read_text())["renders"]
    sight = Sight(eyes, tokenizer)
    tokens = recorded["chat_template.jinja"]["image"]["ids"]
    place = tokens.index(sight.placeholder)
    expanded = sight.expand(tokens, [eyes.prepare(chequered(320, 256), "")], ())
    assert list(expanded.tokens) == [*tokens[:place], *[sight.placeholder] * 80, *tokens[place + 1 :]]
    assert tokenizer.decode([tokens[place - 1], tokens[place + 1]]) == "<|vision_start|><|vision_end|>"
    assert expanded.spans == (ImageSpan(place, 80, (1, 8, 10)),)


def test_pixels_are_those_of_transformers(shared):
    recorded = json.loads((shared / "tools" / "checkpoints" / "preprocess_goldens.json").read_text())
    assert len(recorded["qwen3_5"]) == 8
    for golden in recorded["qwen3_5"]:
        prepared = preparer(CONFIG, {}).prepare(picture(*golden["size_wh"]), "")
        frames, rows, columns = golden["grid_thw"]
        assert prepared.grid == (frames, rows // 2, columns // 2)
        patches, numbers = patches_of(prepared), golden["pixels"]
        assert list(patches.shape) == numbers["shape"]
        assert patches[0, :8].tolist() == pytest.approx(numbers["first8"], abs=1e-5)
        assert patches[5, :4].tolist() == pytest.approx(numbers["row5_first4"], abs=1e-5)
        assert patches.sum(axis=1).sum().item() == pytest.approx(numbers["sum"], rel=1e-4)
        assert (patches**2).sum(axis=1).sum().item() == pytest.approx(numbers["sumsq"], rel=1e-5)
