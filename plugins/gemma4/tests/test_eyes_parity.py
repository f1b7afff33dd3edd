"""What models see and say of an image, against numbers recorded from transformers and mlx-vlm."""

import itertools
import json

import mlx.core as mx
import pytest
from msgspec import Struct
from PIL import Image

from mlxp_core.contracts import ImageSpan, LanguageModel
from mlxp_core.kv import BatchCache, PlainPolicy, forward
from mlxp_core.loading import choose_family, open_folder
from mlxp_core.loading.eyes import Eyes, find_eyes
from mlxp_core.loading.network import load_network
from mlxp_core.loading.tower import load_tower
from mlxp_gemma4 import plugin

WHOLE = ["gemma4-e2b", "gemma4-31b", "gemma4-26b-a4b", "gemma4-12b-unified"]
VARIANTS = [*WHOLE, *(f"{name}-4bit-{group}" for name in WHOLE for group in ("g32", "g64"))]
MLX_VLM = [name for name in VARIANTS if name.startswith(("gemma4-e2b", "gemma4-12b"))]
"""For the others, mlx-vlm lets the tokens of an image see each other in full layers too; transformers does not."""

BEFORE, SOFT, AFTER = [2, 105, 130, 140, 107, 500], 501, [502, 150, 160, 170, 106, 107, 105, 180, 107]
"""The prompt of the recorded numbers: what stands around the image's tokens."""

PROMPT = [*BEFORE, *[SOFT] * 70, *AFTER]
SPAN = ImageSpan(start=len(BEFORE), count=70, grid=(1, 7, 10))


class Seer(Struct):
    """A loaded model, the features of its test image, and what goes into its first layer for the prompt."""

    model: LanguageModel
    eyes: Eyes
    features: mx.array
    embeddings: mx.array

    def read(self, cuts):
        """Read the prompt in passes that end at these places; return all logits and a row to go on with."""
        cache, parts = BatchCache(self.model.make_caches(PlainPolicy(mx.float32))), []
        tokens = mx.array([PROMPT])
        for begin, end in itertools.pairwise([0, *cuts, len(PROMPT)]):
            embedded = self.embeddings[:, begin:end]
            part = tokens[:, begin:end]
            parts.append(forward(self.model, cache, part, embeddings=embedded, images=((SPAN,),)))
        return self.model.logits(mx.concatenate(parts, axis=1))[0], cache

    def greedy(self, steps):
        """Return the likeliest tokens after the prompt."""
        logits, cache = self.read(())
        said = [mx.argmax(logits[-1]).item()]
        while len(said) < steps:
            hidden = forward(self.model, cache, mx.array([said[-1:]]), images=((SPAN,),))
            said.append(mx.argmax(self.model.logits(hidden)[0, -1]).item())
        return said


@pytest.fixture(scope="module")
def oracle(shared):
    return json.loads((shared / "tools" / "checkpoints" / "tiny_oracle.json").read_text())


@pytest.fixture(scope="module")
def seer(tiny_checkpoints):
    """Load a checkpoint, in float32 unless said otherwise, and look at its test image."""
    loaded = {}

    def load(variant, dtype="float32"):
        if (variant, dtype) not in loaded:
            loaded[variant, dtype] = look(tiny_checkpoints / variant, dtype)
        return loaded[variant, dtype]

    return load


def look(path, dtype):
    folder = open_folder(path)
    family, config = choose_family(folder, {family.name: family for family in plugin.mlxp_model_families()})
    eyes = find_eyes(folder, family, config, {tower.name: tower for tower in plugin.mlxp_vision_towers()})
    tower, model = (
        load_tower(folder, eyes, dtype=dtype),
        load_network(folder, family, config, dtype=dtype).model,
    )
    with Image.open(path / "test_image.png") as image:
        pixels = eyes.preparer.prepare(image.convert("RGB"), "")
    assert pixels.grid == SPAN.grid
    features = tower(mx.array(memoryview(pixels.values)).reshape(pixels.shape), pixels.grid)
    embeddings = model.embed(mx.array([PROMPT]))
    embeddings[:, SPAN.start : SPAN.end] = features
    return Seer(model, eyes, features, embeddings)


def recorded(oracle, variant):
    """Return the numbers of the image: transformers' where there are, else mlx-vlm's."""
    return oracle[variant].get("transformers_image_float32") or oracle[variant]["mlx_vlm_float32"]["image"]


@pytest.mark.parametrize("variant", VARIANTS)
def test_features_are_the_oracles(oracle, seer, variant):
    numbers, features = recorded(oracle, variant)["image_features"], seer(variant).features
    assert list(features.shape) == numbers["shape"]
    assert features[0, :8].tolist() == pytest.approx(numbers["first_row_first8"], abs=2e-5)
    if "abs_sum" in numbers:
        assert features.mean().item() == pytest.approx(numbers["mean"], abs=2e-6)
        assert mx.std(features).item() == pytest.approx(numbers["std"], abs=1e-5)
        assert mx.abs(features).sum().item() == pytest.approx(numbers["abs_sum"], rel=1e-5)


@pytest.mark.parametrize("variant", WHOLE)
def test_logits_and_tokens_are_those_of_transformers(oracle, seer, variant):
    expected = oracle[variant]["transformers_image_float32"]
    logits, _ = seer(variant).read(())
    assert mx.argmax(logits, axis=-1).tolist() == expected["argmax_per_position"]
    for token, logit in expected["final"]["top5"]:
        assert logits[-1, token].item() == pytest.approx(logit, abs=1e-4)
    assert seer(variant).greedy(16) == expected["greedy16"]


@pytest.mark.parametrize("variant", MLX_VLM)
def test_logits_and_tokens_are_those_of_mlx_vlm(oracle, seer, variant):
    """In the unified model only nearly: mlx-vlm's sums over its large patches are rounded more than transformers'."""
    expected = oracle[variant]["mlx_vlm_float32"]["image"]
    logits, _ = seer(variant).read(())
    near = 1e-3 if "unified" in variant else 1e-4
    for token, logit in expected["final"]["top5"]:
        assert logits[-1, token].item() == pytest.approx(logit, abs=near)
    assert seer(variant).greedy(16) == expected["greedy16"]


@pytest.mark.parametrize("variant", WHOLE)
def test_passes_may_end_wherever_images_allow(seer, variant):
    model = seer(variant)
    whole, _ = model.read(())
    around = [1, SPAN.start, SPAN.end, SPAN.end + 4]
    assert mx.allclose(model.read(around)[0], whole, atol=1e-4)
    anywhere = [SPAN.start + 1, SPAN.start + 40, SPAN.end - 1]
    assert bool(mx.allclose(model.read(anywhere)[0], whole, atol=1e-4)) is not model.eyes.whole_images
    assert model.eyes.whole_images is (variant != "gemma4-e2b")


@pytest.mark.parametrize("variant", WHOLE)
def test_as_stored_features_and_logits_are_the_oracles_but_for_rounding(oracle, seer, variant):
    expected, model = recorded(oracle, variant), seer(variant, "bfloat16")
    assert model.features.dtype == mx.bfloat16
    assert mx.allclose(model.features.astype(mx.float32), seer(variant).features, atol=0.25)
    logits, _ = model.read(())
    for token, logit in expected["final"]["top5"]:
        assert logits[-1, token].item() == pytest.approx(logit, abs=1.0)
