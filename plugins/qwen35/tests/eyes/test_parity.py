"""What models see and say of images, against numbers recorded from transformers, mlx-vlm and the definition."""

import itertools
from pathlib import Path

import mlx.core as mx
import pytest
from msgspec import Struct
from PIL import Image

from mlxp_core.contracts import ImageSpan, LanguageModel, VisionNetwork
from mlxp_core.kv import BatchCache, PlainPolicy, forward
from mlxp_core.loading import choose_family, open_folder
from mlxp_core.loading.eyes import Eyes, find_eyes
from mlxp_core.loading.network import load_network
from mlxp_core.loading.tower import load_tower
from mlxp_core.testing.pictures import chequered
from mlxp_qwen35 import plugin

WHOLE = ["qwen35", "qwen35-moe"]
VARIANTS = [*WHOLE, *(f"{name}-4bit-{group}" for name in WHOLE for group in ("g32", "g64")), "qwen35-mixed"]
SOFT = 490
BEFORE, AFTER = [479, 50, 60, 487], [488, 70, 80, 480, 90, 479, 100, 110]
"""What stands around the test image in the prompt of the recorded numbers."""


class Prompt(Struct):
    """A prompt with images in it: tokens, where images are, their features, and what goes into the first layer."""

    tokens: list[int]
    spans: tuple[ImageSpan, ...]
    features: mx.array
    embeddings: mx.array


class Seer(Struct):
    """A loaded model, eyes included."""

    path: Path
    model: LanguageModel
    eyes: Eyes
    tower: VisionNetwork

    def look(self, image):
        """Return the features of an image and the grid of its tokens."""
        pixels = self.eyes.preparer.prepare(image, "")
        return self.tower(mx.array(memoryview(pixels.values)).reshape(pixels.shape), pixels.grid), pixels.grid

    def prompt(self, around, images):
        """Return a prompt of images with these tokens before, between and behind."""
        tokens, spans, seen = list(around[0]), [], []
        for image, behind in zip(images, around[1:], strict=True):
            features, grid = self.look(image)
            spans.append(ImageSpan(len(tokens), len(features), grid))
            tokens += [*[SOFT] * len(features), *behind]
            seen.append(features)
        embeddings = self.model.embed(mx.array([tokens]))
        for span, features in zip(spans, seen, strict=True):
            embeddings[:, span.start : span.end] = features
        return Prompt(tokens, tuple(spans), mx.concatenate(seen) if seen else mx.zeros((0,)), embeddings)

    def test_prompt(self):
        """Return the prompt of the recorded numbers."""
        with Image.open(self.path / "test_image.png") as image:
            return self.prompt([BEFORE, AFTER], [image.convert("RGB")])

    def begin(self):
        return BatchCache(self.model.make_caches(PlainPolicy(mx.float32)))

    def read(self, prompt, cuts=()):
        """Read a prompt in passes that end at these places; return all logits and a row to go on with."""
        cache, parts = self.begin(), []
        tokens = mx.array([prompt.tokens])
        for begin, end in itertools.pairwise([0, *cuts, len(prompt.tokens)]):
            embedded, part = prompt.embeddings[:, begin:end], tokens[:, begin:end]
            parts.append(forward(self.model, cache, part, embeddings=embedded, images=(prompt.spans,)))
        return self.model.logits(mx.concatenate(parts, axis=1))[0], cache

    def go_on(self, cache, spans, logits, steps):
        """Return the likeliest tokens of every row, from the logits of the first, ``[rows, vocabulary]``."""
        said = [mx.argmax(logits, axis=-1)]
        while len(said) < steps:
            hidden = forward(self.model, cache, said[-1][:, None], images=spans)
            said.append(mx.argmax(self.model.logits(hidden)[:, -1], axis=-1))
        return mx.stack(said, axis=1).tolist()

    def greedy(self, prompt, steps):
        """Return the likeliest tokens after a prompt."""
        logits, cache = self.read(prompt)
        return self.go_on(cache, (prompt.spans,), logits[-1:], steps)[0]


@pytest.fixture(scope="module")
def seer(tiny_checkpoints):
    """Load a checkpoint, in float32 unless said otherwise."""
    loaded = {}

    def load(variant, dtype="float32"):
        if (variant, dtype) not in loaded:
            loaded[variant, dtype] = load_seer(tiny_checkpoints / variant, dtype)
        return loaded[variant, dtype]

    return load


def load_seer(path, dtype):
    folder = open_folder(path)
    family, config = choose_family(folder, {family.name: family for family in plugin.mlxp_model_families()})
    eyes = find_eyes(folder, family, config, {tower.name: tower for tower in plugin.mlxp_vision_towers()})
    model = load_network(folder, family, config, dtype=dtype).model
    return Seer(path, model, eyes, load_tower(folder, eyes, dtype=dtype))


def prompt_of(seer, several):
    images = [chequered(*image["size"], colour=tuple(image["colour"])) for image in several["images"]]
    return seer.prompt(several["around"], images)


def assert_top5(logits, expected, near=1e-4):
    for token, logit in expected:
        assert logits[token].item() == pytest.approx(logit, abs=near)


@pytest.mark.parametrize("variant", VARIANTS)
def test_features_are_the_oracles(oracle, seer, variant):
    recorded = oracle[variant]
    numbers = (recorded.get("transformers_image_float32") or recorded["mlx_vlm_float32"]["image"])[
        "image_features"
    ]
    features = seer(variant).test_prompt().features
    assert list(features.shape) == numbers["shape"]
    assert features[0, :8].tolist() == pytest.approx(numbers["first_row_first8"], abs=2e-5)
    if "abs_sum" in numbers:
        assert features.mean().item() == pytest.approx(numbers["mean"], abs=2e-6)
        assert mx.std(features).item() == pytest.approx(numbers["std"], abs=1e-5)
        assert mx.abs(features).sum().item() == pytest.approx(numbers["abs_sum"], rel=1e-5)


@pytest.mark.parametrize("variant", WHOLE)
def test_logits_and_tokens_are_those_of_transformers(oracle, seer, variant):
    expected, model = oracle[variant]["transformers_image_float32"], seer(variant)
    prompt = model.test_prompt()
    logits, _ = model.read(prompt)
    assert mx.argmax(logits, axis=-1).tolist() == expected["argmax_per_position"]
    assert_top5(logits[-1], expected["final"]["top5"])
    assert model.greedy(prompt, 16) == expected["greedy16"]


@pytest.mark.parametrize("variant", VARIANTS)
def test_logits_and_tokens_are_those_of_mlx_vlm(oracle, seer, variant):
    expected, model = oracle[variant]["mlx_vlm_float32"]["image"], seer(variant)
    prompt = model.test_prompt()
    assert_top5(model.read(prompt)[0][-1], expected["final"]["top5"])
    assert model.greedy(prompt, 16) == expected["greedy16"]


@pytest.mark.parametrize("variant", WHOLE)
def test_several_images_of_any_shape_are_seen_as_the_definition_says(seer, several, variant):
    expected, model = several["models"][variant], seer(variant)
    prompt = prompt_of(model, several)
    assert [span.grid for span in prompt.spans] == [(1, 8, 8), (1, 5, 16), (1, 16, 5)]
    for row, numbers in zip(several["feature_rows"], expected["features"], strict=True):
        assert prompt.features[row, :4].tolist() == pytest.approx(numbers, abs=3e-5)
    logits, _ = model.read(prompt)
    assert mx.argmax(logits, axis=-1)[::10].tolist() == expected["argmax_every_10th"]
    assert_top5(logits[-1], expected["top5"])
    assert model.greedy(prompt, 16) == expected["greedy16"]


@pytest.mark.parametrize("step", [1, 7, 64])
@pytest.mark.parametrize("variant", [*WHOLE, "qwen35-mixed"])
def test_passes_may_end_anywhere(seer, several, variant, step):
    model = seer(variant)
    for prompt in (model.test_prompt(), prompt_of(model, several)):
        whole, _ = model.read(prompt)
        found, cache = model.read(prompt, range(step, len(prompt.tokens), step))
        assert mx.allclose(found, whole, atol=2e-4)
        assert model.go_on(cache, (prompt.spans,), found[-1:], 8)[0] == model.greedy(prompt, 8)


@pytest.mark.parametrize("variant", [*WHOLE, "qwen35-mixed"])
def test_rows_with_images_and_rows_without_do_not_disturb_each_other(seer, several, variant):
    """Read together in passes of up to 40 tokens, then going on together."""
    model = seer(variant)
    text = model.prompt([[479, *range(100, 160), 488]], [])
    prompts = [model.test_prompt(), text, prompt_of(model, several)]
    spans, batch = tuple(prompt.spans for prompt in prompts), model.begin()
    for _ in prompts[1:]:
        batch.join(model.begin())
    longest, last = max(len(prompt.tokens) for prompt in prompts), [None] * len(prompts)
    for begin in range(0, longest, 40):
        cut = [prompt.tokens[begin : begin + 40] for prompt in prompts]
        tokens = mx.array([[*part, *[0] * (40 - len(part))] for part in cut])
        embeddings = model.model.embed(tokens)
        for row, prompt in enumerate(prompts):
            embeddings[row, : len(cut[row])] = prompt.embeddings[0, begin : begin + 40]
        counts = [len(part) for part in cut]
        hidden = forward(model.model, batch, tokens, counts=counts, embeddings=embeddings, images=spans)
        for row, count in enumerate(counts):
            last[row] = model.model.logits(hidden[row, count - 1]) if count else last[row]
    for found, prompt in zip(last, prompts, strict=True):
        assert mx.allclose(found, model.read(prompt)[0][-1], atol=2e-4)
    alone = [model.greedy(prompt, 8) for prompt in prompts]
    assert model.go_on(batch, spans, mx.stack(last), 8) == alone


@pytest.mark.parametrize("variant", WHOLE)
def test_as_stored_features_and_logits_are_the_oracles_but_for_rounding(oracle, seer, variant):
    expected, model = oracle[variant]["transformers_image_float32"], seer(variant, "bfloat16")
    prompt = model.test_prompt()
    assert prompt.features.dtype == mx.bfloat16
    exact = seer(variant).test_prompt().features
    assert mx.allclose(prompt.features.astype(mx.float32), exact, atol=0.15)
    assert mx.abs(prompt.features - exact).mean() < 0.02
    assert_top5(model.read(prompt)[0][-1].astype(mx.float32), expected["final"]["top5"], near=1.5)
