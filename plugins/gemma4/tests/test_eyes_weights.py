"""All spellings of a checkpoint are the same eyes, and no tensor is both the eyes' and the text network's."""

import shutil

import mlx.core as mx
import pytest

from mlxp_core.loading import open_folder
from mlxp_core.loading.eyes import find_eyes
from mlxp_core.loading.tower import load_tower
from mlxp_core.testing.networks import parameters
from mlxp_gemma4 import plugin, weights
from mlxp_gemma4.eyes.config import read
from mlxp_gemma4.eyes.weights import SIDECAR, rename

EYES = [
    "vision_tower.patch_embedder.input_proj.weight",
    "vision_tower.patch_embedder.position_embedding_table",
    "vision_tower.encoder.layers.3.self_attn.q_proj.linear.weight",
    "vision_tower.encoder.layers.3.mlp.up_proj.input_max",
    "vision_tower.std_bias",
    "vision_embedder.patch_ln1.bias",
    "vision_embedder.pos_embedding",
    "embed_vision.embedding_projection.weight",
]
OTHERS = [
    "language_model.model.embed_tokens.weight",
    "language_model.model.layers.0.mlp.up_proj.weight",
    "audio_tower.layers.0.feed_forward1.ffw_layer_1.linear.weight",
    "embed_audio.embedding_projection.weight",
    "vision_tower.encoder.rotary_emb.inv_freq",
    "lm_head.weight",
]


@pytest.mark.parametrize("prefix", ["model.", ""], ids=["original", "converted"])
def test_every_parameter_has_a_tensor_in_every_spelling(seeing, original_name, prefix):
    (tower,) = plugin.mlxp_vision_towers()
    names = parameters(tower.build(read(seeing)))
    assert names
    assert [rename(prefix + original_name(name).removeprefix("model.")) for name in names] == list(names)


@pytest.mark.parametrize("prefix", ["model.", ""])
@pytest.mark.parametrize("name", EYES)
def test_what_is_of_the_eyes_is_not_of_the_text_network(prefix, name):
    assert rename(prefix + name) is not None
    assert weights.rename(prefix + name) is None


@pytest.mark.parametrize("prefix", ["model.", ""])
@pytest.mark.parametrize("name", OTHERS)
def test_the_rest_is_not_of_the_eyes(prefix, name):
    assert rename(prefix + name) is None


QUANTIZED = ("_proj.weight", "_proj.linear.weight", "_dense.weight", "_projection.weight")


def eyes_of(path):
    """Return the loaded eyes of a model."""
    folder = open_folder(path)
    (family,), (tower,) = plugin.mlxp_model_families(), plugin.mlxp_vision_towers()
    eyes = find_eyes(folder, family, family.config(folder.config), {tower.name: tower})
    return load_tower(folder, eyes, dtype="float32")


def stored_in(folder):
    """Return the tensors of a model's only file, read."""
    stored = dict(mx.load(str(folder / "model.safetensors")))
    mx.eval(stored)
    return stored


@pytest.mark.parametrize("variant", ["gemma4-e2b", "gemma4-31b", "gemma4-12b-unified-4bit-g32"])
def test_eyes_may_be_in_a_file_beside_the_checkpoint(tiny_checkpoints, tmp_path, variant):
    expected = parameters(eyes_of(tiny_checkpoints / variant))
    folder = shutil.copytree(tiny_checkpoints / variant, tmp_path / variant)
    stored = stored_in(folder)
    seeing = {name: value for name, value in stored.items() if rename(name) is not None}
    rest = {name: value for name, value in stored.items() if name not in seeing}
    mx.save_safetensors(str(folder / "model.safetensors"), rest)
    mx.save_safetensors(
        str(folder / SIDECAR), {name.removeprefix("model."): value for name, value in seeing.items()}
    )
    found = parameters(eyes_of(folder))
    assert found.keys() == expected.keys()
    assert all(mx.array_equal(found[name], expected[name]) for name in expected)


@pytest.mark.parametrize("variant", ["gemma4-e2b-4bit-g32", "gemma4-12b-unified-4bit-g32"])
def test_eyes_may_be_quantized(tiny_checkpoints, tmp_path, variant):
    packed, rounded = (
        shutil.copytree(tiny_checkpoints / variant, tmp_path / kind) for kind in ("packed", "rounded")
    )
    parts, values = stored_in(packed), stored_in(packed)
    matrices = [name for name in parts if rename(name) is not None and name.endswith(QUANTIZED)]
    assert matrices
    for name in matrices:
        quantized = mx.quantize(parts[name].astype(mx.float32), 32, 4)
        for part, value in zip((".weight", ".scales", ".biases"), quantized, strict=True):
            parts[name.removesuffix(".weight") + part] = value
        values[name] = mx.dequantize(*quantized, 32, 4)
    for folder, tensors in ((packed, parts), (rounded, values)):
        mx.save_safetensors(str(folder / "model.safetensors"), tensors)
    pixels = mx.random.randint(0, 256, (96, 144, 3), key=mx.random.key(0)).astype(mx.uint8)
    features, expected = (eyes_of(folder)(pixels, (1, 2, 3)) for folder in (packed, rounded))
    assert mx.allclose(features, expected, atol=1e-3)
