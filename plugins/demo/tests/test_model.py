"""The folder that is shipped: whole, small, and computed as mlx-lm and transformers compute it."""

import importlib
import json
from pathlib import Path
from types import SimpleNamespace

import mlx.core as mx
import pytest

from mlxp_core import hookimpl
from mlxp_core.loading import choose_family, open_folder
from mlxp_core.loading.network import load_network
from mlxp_core.plugins import build_registry, load_plugins, load_settings
from mlxp_core.testing.networks import Session
from mlxp_core.types import Appraisal, ModelChoice, PluginSettings
from mlxp_demo import plugin
from mlxp_demo.plugin import FOLDER, mlxp_resolve_model

MOST_BYTES = 16 * 2**20
CLOSE = 2e-5
"""Of the largest logit, in float32."""


@pytest.fixture(scope="module")
def recorded():
    """What transformers computes from the same numbers, in float32."""
    return json.loads((Path(__file__).parent / "golden.json").read_text("utf-8"))


@pytest.fixture(scope="module")
def network():
    pytest.importorskip("mlxp_qwen35")
    loaded = load_plugins(PluginSettings())
    registry = build_registry(loaded, load_settings(None, {}, {}, loaded.sections, absent=loaded.absent))
    folder = open_folder(FOLDER)
    family, config = choose_family(folder, registry.families)
    assert family.name == "qwen35"
    return load_network(folder, family, config, dtype="float32").model


def test_the_reference_names_the_folder():
    assert mlxp_resolve_model("demo") == FOLDER
    assert mlxp_resolve_model("demonstration") is None


def test_it_is_served_where_nobody_knows_a_better_one_and_somebody_can(tmp_path):
    better = SimpleNamespace(mlxp_default_model=hookimpl(lambda: ModelChoice(path=tmp_path, why="better")))
    for others, family, expected in (
        ([], "qwen35", FOLDER),
        ([("other", better)], "qwen35", tmp_path),
        ([], None, None),
    ):
        loaded = load_plugins(PluginSettings(), extra=[*others, ("demo", plugin)], path=())
        registry = build_registry(loaded, load_settings(None, {}, {}, loaded.sections, absent=loaded.absent))
        choice = registry.default_model(lambda path, family=family: Appraisal(name=path.name, family=family))
        assert (choice and choice.path) == expected


def test_who_is_served_it_is_told_what_it_is():
    why = plugin.mlxp_default_model(lambda path: Appraisal(name=path.name, family="qwen35")).why
    assert "demonstration" in why
    assert "mlxp get" in why


def test_it_is_a_whole_folder_and_small():
    folder = open_folder(FOLDER)
    assert folder.warnings == ()
    assert folder.templates.default
    assert folder.defaults.temperature == 0
    assert sum(file.stat().st_size for file in FOLDER.iterdir()) <= MOST_BYTES


def test_logits_are_those_of_transformers(network, recorded):
    for row in recorded["rows"]:
        logits = Session(network).read([row["tokens"]])[0]
        assert mx.argmax(logits, axis=-1).tolist() == row["likeliest"]
        for place, tokens, values in row["top"]:
            found = logits[place][mx.array(tokens)]
            assert mx.allclose(found, mx.array(values), rtol=0, atol=CLOSE * max(map(abs, values)) + 1e-4)


def test_logits_are_those_of_mlx_lm(network, recorded):
    utils = pytest.importorskip("mlx_lm.utils")
    theirs, _ = utils.load_model(FOLDER, model_config={"model_type": "qwen3_5"})
    theirs.set_dtype(mx.float32)
    for row in recorded["rows"]:
        expected = theirs(mx.array([row["tokens"]]))[0]
        found = Session(network).read([row["tokens"]])[0]
        assert mx.allclose(found, expected, rtol=0, atol=CLOSE * mx.abs(expected).max().item())


def test_transformers_reads_the_same_tokens(recorded):
    transformers = importlib.import_module("transformers")
    tokenizer = transformers.PreTrainedTokenizerFast.from_pretrained(FOLDER)
    for row in recorded["rows"]:
        assert tokenizer.encode(row["text"], add_special_tokens=False) == row["tokens"]
