"""All spellings of a checkpoint are the same eyes, and no tensor is both the eyes' and another network's."""

import shutil

import mlx.core as mx
import pytest

from mlxp_core.errors import ModelFolderError
from mlxp_core.loading import open_folder
from mlxp_core.loading.eyes import find_eyes
from mlxp_core.loading.tower import load_tower
from mlxp_core.testing.networks import parameters
from mlxp_qwen35 import plugin, weights
from mlxp_qwen35.eyes.config import read
from mlxp_qwen35.eyes.weights import SIDECAR, convert, rename

PREFIXES = ["model.visual.", "visual.", "vision_tower."]
EYES = [
    "patch_embed.proj.weight",
    "patch_embed.proj.bias",
    "pos_embed.weight",
    "blocks.11.norm1.bias",
    "blocks.0.attn.qkv.weight",
    "blocks.0.mlp.linear_fc2.bias",
    "merger.norm.weight",
    "merger.linear_fc1.weight",
]
OTHERS = [
    "model.language_model.embed_tokens.weight",
    "language_model.model.layers.0.mlp.up_proj.weight",
    "model.layers.3.self_attn.q_proj.weight",
    "mtp.layers.0.mlp.up_proj.weight",
    "model.visual.rotary_pos_emb.inv_freq",
    "lm_head.weight",
]
SHAPE = (24, 2, 4, 4, 3)
"""Of what embeds patches, in the tower."""


@pytest.mark.parametrize("prefix", PREFIXES)
@pytest.mark.parametrize("name", EYES)
def test_what_is_of_the_eyes_is_of_no_other_network(prefix, name):
    assert rename(prefix + name) == name.replace(".proj.", ".") if "patch" in name else name
    assert weights.rename(prefix + name) is None
    assert weights.rename_draft(prefix + name) is None


@pytest.mark.parametrize("name", OTHERS)
def test_the_rest_is_not_of_the_eyes(name):
    assert rename(name) is None


def test_colours_of_patches_come_last_whichever_way_they_are_stored(seeing):
    own = mx.random.normal(SHAPE, key=mx.random.key(0))
    for stored in (own, own.transpose(0, 4, 1, 2, 3)):
        tensors = {"patch_embed.weight": stored, "patch_embed.bias": mx.zeros(24)}
        convert(tensors, read(seeing))
        assert mx.array_equal(tensors["patch_embed.weight"], own)


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


def write(folder, tensors, file="model.safetensors"):
    mx.save_safetensors(str(folder / file), tensors)


@pytest.fixture
def copied(tiny_checkpoints, tmp_path):
    """Return a checkpoint of one's own."""
    return lambda variant, name="own": shutil.copytree(tiny_checkpoints / variant, tmp_path / name)


@pytest.mark.parametrize("variant", ["qwen35", "qwen35-moe"])
def test_published_and_converted_checkpoints_are_the_same_eyes(tiny_checkpoints, variant):
    expected = parameters(eyes_of(tiny_checkpoints / variant))
    found = parameters(eyes_of(tiny_checkpoints / f"{variant}-4bit-g64"))
    assert found.keys() == expected.keys()
    assert all(mx.array_equal(found[name], expected[name]) for name in expected)


@pytest.mark.parametrize("variant", ["qwen35", "qwen35-moe-4bit-g32"])
def test_eyes_may_be_in_a_file_beside_the_checkpoint(tiny_checkpoints, copied, variant):
    expected, folder = parameters(eyes_of(tiny_checkpoints / variant)), copied(variant)
    stored = stored_in(folder)
    seeing = {name: value for name, value in stored.items() if rename(name) is not None}
    write(folder, {name: value for name, value in stored.items() if name not in seeing})
    write(folder, seeing, SIDECAR)
    found = parameters(eyes_of(folder))
    assert found.keys() == expected.keys()
    assert all(mx.array_equal(found[name], expected[name]) for name in expected)


@pytest.mark.parametrize("variant", ["qwen35", "qwen35-moe-4bit-g32"])
def test_eyes_may_be_quantized(copied, variant):
    """Linear layers and positions are; what embeds patches never is, as it is no matrix."""
    packed, rounded = (copied(variant, kind) for kind in ("packed", "rounded"))
    config = (packed / "config.json").read_text()
    if '"quantization"' not in config:
        note = '{\n  "quantization": {"group_size": 32, "bits": 4, "mode": "affine"},'
        (packed / "config.json").write_text(config.replace("{", note, 1))
    parts, values = stored_in(packed), stored_in(packed)
    matrices = [name for name, value in parts.items() if rename(name) is not None and value.ndim == 2]
    assert len(matrices) == 11
    for name in matrices:
        quantized = mx.quantize(parts[name].astype(mx.float32), 32, 4)
        for part, value in zip((".weight", ".scales", ".biases"), quantized, strict=True):
            parts[name.removesuffix(".weight") + part] = value
        values[name] = mx.dequantize(*quantized, 32, 4)
    write(packed, parts)
    write(rounded, values)
    pixels = mx.random.randint(0, 256, (96, 128, 3), key=mx.random.key(0)).astype(mx.uint8)
    features, expected = (eyes_of(folder)(pixels, (1, 3, 4)) for folder in (packed, rounded))
    assert mx.allclose(features, expected, atol=1e-3)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda stored: stored.pop("model.visual.merger.norm.bias"), "merger.norm.bias"),
        (lambda stored: stored.update({"model.visual.deepstack.0.bias": mx.zeros(2)}), "deepstack.0.bias"),
        (lambda stored: stored.update({"model.visual.pos_embed.weight": mx.zeros((8, 64))}), "pos_embed"),
    ],
)
def test_what_does_not_fit_is_named(copied, change, named):
    folder = copied("qwen35")
    stored = stored_in(folder)
    change(stored)
    write(folder, stored)
    with pytest.raises(ModelFolderError, match=named):
        eyes_of(folder)
