import json
import os

import pytest

from mlxp_core.loading import appraise, open_folder
from mlxp_core.loading.appraise import USUAL_CONTEXT, Place
from mlxp_core.loading.files import model_name, where
from mlxp_core.loading.sketch import write_sketch
from mlxp_core.loading.weighing import weigh
from mlxp_core.plugins import build_registry, load_plugins, load_settings
from mlxp_core.types import Machine, PluginSettings


@pytest.fixture(scope="module")
def sketch(tmp_path_factory):
    return write_sketch(tmp_path_factory.mktemp("models") / "sketch")


@pytest.fixture(scope="module")
def registry():
    family = pytest.importorskip("mlxp_minicpm5.plugin", reason="the sketch needs its family")
    loaded = load_plugins(PluginSettings(), extra=[("minicpm5", family)], path=())
    return build_registry(loaded, load_settings(None, {}, {}, loaded.sections))


def test_a_model_that_can_be_served_is_described_as_loading_it_would(sketch, registry):
    folder, told = open_folder(sketch), appraise(sketch, registry)
    assert (told.name, told.family, told.fault) == ("sketch", "minicpm5", None)
    assert (told.context, told.weight_bytes, told.vision) == (folder.context, folder.weight_bytes, False)


def test_a_model_that_nobody_claims_says_so(tmp_path, sketch, registry):
    strange = tmp_path / "strange"
    strange.mkdir()
    for file in sketch.iterdir():
        os.link(file, strange / file.name)
    config = json.loads((strange / "config.json").read_text())
    (strange / "config.json").unlink()
    (strange / "config.json").write_text(json.dumps({**config, "model_type": "strange"}))
    told = appraise(strange, registry)
    assert (told.name, told.family) == ("strange", None)
    assert "'strange'" in told.fault
    assert told.weight_bytes == open_folder(sketch).weight_bytes


@pytest.mark.parametrize("there", [True, False])
def test_what_is_no_model_has_a_fault_and_nothing_is_raised(tmp_path, registry, there):
    path = tmp_path / "nothing"
    if there:
        path.mkdir()
    told = appraise(path, registry)
    assert (told.name, told.family, told.weight_bytes) == ("nothing", None, 0)
    assert told.fault


def test_a_folder_of_the_cache_is_called_as_on_the_hub(tmp_path, sketch):
    commit = "0123456789abcdef0123456789abcdef01234567"
    snapshot = tmp_path / "models--owner--some-name" / "snapshots" / commit
    snapshot.parent.mkdir(parents=True)
    snapshot.symlink_to(sketch)
    assert model_name(snapshot) == "owner/some-name"
    assert where(snapshot / "config.json") == "owner/some-name/config.json"


@pytest.mark.parametrize("place", ["sketch", "snapshots/abc", "models--a--b/other/abc", "x/snapshots/abc"])
def test_any_other_folder_has_its_own_name(tmp_path, place):
    path = tmp_path / place
    assert model_name(path) == path.name


def place(total):
    machine = Machine(backend="cpu", chip="paper", ram_bytes=2 * total, usable_bytes=total)
    return Place(machine, total, 512, weighed)


def weighed(folder, family, config, eyes):
    return lambda machine: weigh(folder, family, config, machine, eyes=eyes)


def test_whether_it_fits_is_said_for_a_context_of_usual_length(sketch, registry):
    roomy = appraise(sketch, registry, place(10**12)).fit
    assert roomy.fits
    assert roomy.context_tokens == min(USUAL_CONTEXT, open_folder(sketch).context)
    just = appraise(sketch, registry, place(roomy.total_bytes)).fit
    tight = appraise(sketch, registry, place(roomy.total_bytes - 1)).fit
    assert (just.fits, tight.fits) == (True, False)
    assert tight.max_safe_context < roomy.context_tokens


def test_without_a_place_nobody_says_whether_it_fits(sketch, registry):
    assert appraise(sketch, registry).fit is None


def test_a_context_may_be_asked_for(sketch, registry):
    usual = appraise(sketch, registry, place(10**12))
    small = appraise(sketch, registry, place(10**12), 16).fit
    most = appraise(sketch, registry, place(10**12), 10**9).fit
    assert small.context_tokens == 16
    assert most.context_tokens == usual.context
    assert small.kv_bytes < most.kv_bytes
