"""A merged adapter adds what all of them add, in either form."""

import json

import mlx.core as mx
import pytest

from mlxp_lab.jobs import BadParameters, JobFailed
from mlxp_lab.merging.parameters import MergeParameters, prepare
from mlxp_lab.merging.work import merge

CLOSE = 2e-5
"""Of the largest logit, in float32."""


def near(one, other, close=CLOSE):
    return mx.abs(one - other).max().item() <= close * mx.abs(other).max().item()


@pytest.fixture
def merged(drawer):
    """Merge adapters, and return the new folder and what came of it."""

    def run(*adapters, **asked):
        given = {"adapters": tuple(map(str, adapters)), "output": "all", **asked}
        result = merge(prepare(MergeParameters(**given), drawer.site), drawer.context())
        return result.output, result

    return run


@pytest.mark.parametrize("name", ["minicpm5", "gemma4-e2b-text", "qwen35"])
def test_merged_is_all_mounted_at_once_and_mlx_lm_agrees(
    merged, drawer, logits, theirs, tiny_checkpoints, name
):
    one, other = (
        drawer(name, "one", rank=4),
        drawer(name, "other", rank=2, scale=3.0, targets=("q_proj",), layers=2),
    )
    folder, result = merged(one, other)
    expected = logits(tiny_checkpoints / name, one, other)
    assert near(logits(tiny_checkpoints / name, folder), expected)
    assert near(theirs(tiny_checkpoints / name, folder), expected)
    assert (result.summary["rank"], result.summary["base_model"]) == (6, name)


@pytest.mark.parametrize("name", ["minicpm5", "gemma4-e2b", "qwen35"])
def test_peft_and_back_is_the_same(merged, drawer, logits, tiny_checkpoints, name):
    one = drawer(name, "one")
    expected = logits(tiny_checkpoints / name, one)
    peft, result = merged(one, format="peft", output="theirs")
    assert near(logits(tiny_checkpoints / name, peft), expected)
    back, _ = merged("theirs", output="back")
    assert near(logits(tiny_checkpoints / name, back), expected)
    assert (
        mx.load(str(back / "adapters.safetensors")).keys()
        == mx.load(str(one / "adapters.safetensors")).keys()
    )
    assert result.summary["format"] == "peft"


@pytest.mark.parametrize("name", ["minicpm5", "gemma4-e2b", "gemma4-e2b-text", "qwen35", "qwen35-text"])
def test_peft_files_are_named_and_turned_as_peft_has_them(merged, drawer, opened, tiny_checkpoints, name):
    """Modules are called as in the published checkpoint, which is what PEFT's own networks call them."""
    one = drawer(name, "one", rank=3, targets=("q_proj",))
    folder, _ = merged(one, format="peft", model=str(tiny_checkpoints / name))
    config = json.loads((folder / "adapter_config.json").read_text())
    assert (config["peft_type"], config["r"], config["lora_alpha"]) == ("LORA", 3, 3)
    assert config["target_modules"] == ["q_proj"]
    stored = opened(name).folder.tensors
    for tensor, array in mx.load(str(folder / "adapter_model.safetensors")).items():
        module, _, half = tensor.removeprefix("base_model.model.").partition(".lora_")
        outputs, inputs = stored[f"{module}.weight"].shape
        assert array.shape == {"A.weight": (3, inputs), "B.weight": (outputs, 3)}[half]


def test_weights_say_how_much_each_counts(merged, drawer, logits, tiny_checkpoints):
    one, other = drawer("minicpm5", "one"), drawer("minicpm5", "other")
    folder, _ = merged(one, other, weights=(1.0, 0.0))
    assert near(logits(tiny_checkpoints / "minicpm5", folder), logits(tiny_checkpoints / "minicpm5", one))
    less, _ = merged(one, one, weights=(2.0, -1.0), output="less")
    assert near(logits(tiny_checkpoints / "minicpm5", less), logits(tiny_checkpoints / "minicpm5", one))


def test_adapters_of_different_models_are_not_merged(merged, drawer):
    with pytest.raises(JobFailed, match="different models"):
        merged(drawer("minicpm5", "one"), drawer("qwen35", "other"))


@pytest.mark.parametrize(
    ("asked", "param"),
    [
        ({"adapters": ("none such",)}, "adapters"),
        ({"weights": (1.0, 2.0)}, "weights"),
        ({"output": "one"}, "output"),
        ({"output": "one", "replace": True}, "output"),
        ({"output": "", "replace": True}, "output"),
    ],
)
def test_what_is_wrong_is_told_before_anything_is_computed(drawer, asked, param):
    drawer("minicpm5", "one")
    with pytest.raises(BadParameters) as refused:
        prepare(MergeParameters(**{"adapters": ("one",), "output": "all", **asked}), drawer.site)
    assert refused.value.param == param
