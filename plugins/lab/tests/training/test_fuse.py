"""A model with adapters fused is the model with adapters mounted, and everything else is as it was."""

import json

import mlx.core as mx
import pytest

from mlxp_core.workshop.parts import network_part
from mlxp_core.workshop.terms import fitted_terms
from mlxp_lab.adapting.places import find_adapter
from mlxp_lab.fusing.parameters import FuseParameters, prepare
from mlxp_lab.fusing.work import fuse
from mlxp_lab.jobs import BadParameters

PLAIN = ["minicpm5", "gemma4-e2b-text", "gemma4-26b-a4b", "qwen35", "qwen35-moe"]
PACKED = ["minicpm5-4bit-g32", "minicpm5-mixed", "gemma4-e2b-text-mixed", "qwen35-moe-4bit-g32"]
CLOSE = 2e-5
"""Of the largest logit, in float32."""


def near(one, other, close=CLOSE):
    return mx.abs(one - other).max().item() <= close * mx.abs(other).max().item()


@pytest.fixture
def fused(drawer, tiny_checkpoints):
    """Fuse adapters into a tiny checkpoint, and return the new folder and what came of it."""

    def run(model, *adapters, **asked):
        given = {"model": str(tiny_checkpoints / model), "adapters": tuple(map(str, adapters))}
        parameters = prepare(FuseParameters(**given, **asked), drawer.site)
        result = fuse(parameters, drawer.context())
        return result.output, result

    return run


@pytest.mark.parametrize("name", PLAIN)
def test_fused_is_mounted_and_mlx_lm_agrees(fused, drawer, logits, theirs, tiny_checkpoints, name):
    one, other = drawer(name, "one"), drawer(name, "other", rank=2, targets=("q_proj", "o_proj"), layers=2)
    folder, result = fused(name, one, other, dtype="float32")
    expected = logits(tiny_checkpoints / name, one, other)
    assert not near(logits(tiny_checkpoints / name), expected, 0.01)
    assert near(logits(folder), expected)
    assert near(theirs(folder), expected)
    assert result.summary["modules"] > 4
    assert folder == drawer.site.made_models / f"{name}-one-other"


@pytest.mark.parametrize("name", PACKED)
def test_packed_models_are_packed_again_or_left_plain(fused, drawer, logits, opened, tiny_checkpoints, name):
    adapter = drawer(name, "one")
    plain, _ = fused(name, adapter, unpack=True, dtype="float32", output="plain")
    expected = logits(tiny_checkpoints / name, adapter)
    assert near(logits(plain), expected)
    packed, _ = fused(name, adapter, output="packed")
    before, after = network_part(opened(name)), network_part(opened(packed))
    terms = fitted_terms(find_adapter(str(adapter), drawer.site), opened(name), before.module)
    assert before.packings == after.packings
    for path, packing in before.packings.items():
        weight = before.arrays[f"{path}.weight"]
        if path in terms:
            changed = (weight + (terms[path].a @ terms[path].b).T).astype(before.packed[path][1].dtype)
            pieces = mx.quantize(changed, packing.group_size, packing.bits, mode=packing.mode)
        else:
            pieces = before.packed[path]
        assert all(mx.array_equal(*both) for both in zip(pieces, after.packed[path], strict=True))


def test_what_is_not_changed_is_written_bit_by_bit(fused, drawer, tiny_checkpoints):
    name = "minicpm5-4bit-g32"
    folder, _ = fused(name, drawer(name, "one", targets=("q_proj",)))
    before, after = (mx.load(str(path / "model.safetensors")) for path in (tiny_checkpoints / name, folder))
    assert before.keys() == after.keys()
    changed = {key for key, array in before.items() if not mx.array_equal(array, after[key])}
    assert changed
    assert all(".q_proj." in key for key in changed)
    assert {key: array.dtype for key, array in before.items()} == {
        key: array.dtype for key, array in after.items()
    }
    told = [
        json.loads((path / "config.json").read_text())["quantization"]
        for path in (tiny_checkpoints / name, folder)
    ]
    assert {key: told[1][key] for key in ("bits", "group_size")} == {
        key: told[0][key] for key in ("bits", "group_size")
    }


def test_a_plain_model_stays_plain(fused, drawer, tiny_checkpoints):
    folder, _ = fused("minicpm5", drawer("minicpm5", "one"))
    config = json.loads((folder / "config.json").read_text())
    assert config == json.loads((tiny_checkpoints / "minicpm5" / "config.json").read_text())
    dtypes = {array.dtype for array in mx.load(str(folder / "model.safetensors")).values()}
    assert dtypes == {mx.bfloat16}


def test_weights_say_how_much_each_adapter_counts(fused, drawer, logits, tiny_checkpoints):
    one, other = drawer("minicpm5", "one"), drawer("minicpm5", "other")
    folder, _ = fused("minicpm5", one, other, weights=(0.5, 0.0), dtype="float32")
    half, _ = fused("minicpm5", one, weights=(0.5,), dtype="float32", output="half")
    assert near(logits(folder), logits(half))
    assert not near(logits(folder), logits(tiny_checkpoints / "minicpm5", one), 0.01)


@pytest.mark.parametrize(
    ("asked", "param"),
    [
        ({"model": "no/such"}, "model"),
        ({"adapters": ("none such",)}, "adapters"),
        ({"weights": (1.0, 2.0)}, "weights"),
        ({"output": "there"}, "output"),
    ],
)
def test_what_is_wrong_is_told_before_anything_is_computed(drawer, tiny_checkpoints, asked, param):
    drawer("minicpm5", "one")
    (drawer.site.made_models / "there").mkdir(parents=True)
    given = {"model": str(tiny_checkpoints / "minicpm5"), "adapters": ("one",), **asked}
    with pytest.raises(BadParameters) as refused:
        prepare(FuseParameters(**given), drawer.site)
    assert refused.value.param == param


def test_what_is_read_is_not_replaced(drawer, tiny_checkpoints):
    adapter, model = drawer("minicpm5", "one"), tiny_checkpoints / "minicpm5"
    for output in (model, adapter, adapter.parent):
        asked = FuseParameters(model=str(model), adapters=("one",), output=str(output), replace=True)
        with pytest.raises(BadParameters, match="cannot be replaced"):
            prepare(asked, drawer.site)
