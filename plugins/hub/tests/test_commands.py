"""``mlxp get``, ``mlxp models``, ``mlxp rm``, through the command line of the core."""

import json
import os

import pytest
from click.testing import CliRunner

from mlxp_core.cli.main import mlxp
from mlxp_hub.library import downloaded

OTHER = "f" * 40


@pytest.fixture
def run(hub, cache, tmp_path, monkeypatch):
    """Run ``mlxp`` with arguments; returns click's result."""
    for variable in [name for name in os.environ if name.startswith("MLXP_")]:
        monkeypatch.delenv(variable)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("MLXP_HUB_CACHE", str(cache))
    monkeypatch.setenv("MLXP_HUB_ENDPOINT", hub.url)
    monkeypatch.setenv("MLXP_HUB_TOKEN", "secret")
    monkeypatch.chdir(tmp_path)
    return lambda *arguments, **more: CliRunner().invoke(mlxp, list(arguments), prog_name="mlxp", **more)


def test_a_model_from_the_hub_to_the_list_and_off_the_disk(run, hub, sketch, cache):
    hub.add("owner/tiny", sketch)
    got = run("get", "owner/tiny")
    assert got.exit_code == 0, got.output
    assert "mlxp serve owner/tiny" in got.output
    assert "model.safetensors: complete" in got.output
    (row,) = json.loads(run("models", "--json").output)
    assert (row["repo"], row["family"], row["fault"]) == ("owner/tiny", "minicpm5", None)
    assert row["size_bytes"] == sum(map(len, sketch.values()))
    gone = run("rm", "tiny", "--yes")
    assert gone.exit_code == 0, gone.output
    assert downloaded(cache) == []
    assert not (cache / "models--owner--tiny").exists()


def test_a_part_of_a_name_brings_a_model_up_to_date(run, hub, sketch, cache):
    hub.add("owner/tiny", sketch)
    run("get", "owner/tiny")
    hub.add("owner/tiny", {**sketch, "generation_config.json": b"{}"}, commit=OTHER)
    assert run("get", "tiny").exit_code == 0
    assert {model.commit: model.refs for model in downloaded(cache)}[OTHER] == ("main",)


def test_a_revision_may_be_named_either_way(run, hub, sketch, cache):
    hub.add("owner/tiny", sketch, revisions=("v1",))
    assert run("get", "owner/tiny", "--revision", "v1").exit_code == 0
    assert run("get", "owner/tiny@v1").exit_code == 0
    assert [model.refs for model in downloaded(cache)] == [("v1",)]


@pytest.mark.parametrize(("ref", "word"), [("tiny", "owner/name"), ("owner/tiny", "has no model")])
def test_what_cannot_be_fetched_is_one_sentence(run, ref, word):
    result = run("get", ref)
    assert result.exit_code == 1
    assert word in result.output
    assert len(result.output.strip().splitlines()) == 1


def test_a_model_that_nobody_can_serve_is_fetched_all_the_same_and_said(run, hub, sketch):
    hub.add("owner/odd", {**sketch, "config.json": b'{"model_type": "odd"}'})
    result = run("get", "owner/odd")
    assert result.exit_code == 0
    assert "no plugin claims model_type 'odd'" in result.output


def test_the_list_shows_what_is_here(run, put, sketch):
    put("owner/tiny", sketch)
    put("owner/odd", {**sketch, "config.json": b'{"model_type": "odd"}'}, commit=OTHER, refs=("v1",))
    table = run("models").output
    assert "owner/tiny" in table
    assert "minicpm5" in table
    assert "none for odd" in table
    assert "owner/odd" not in run("models", "tiny").output
    assert "v1" in run("models", "--all").output


def test_an_empty_list_says_how_to_fill_it(run):
    result = run("models")
    assert result.exit_code == 0
    assert "mlxp get" in result.output


def test_nothing_is_removed_without_a_yes(run, put, sketch, cache):
    put("owner/tiny", sketch)
    assert run("rm", "owner/tiny", input="n\n").exit_code == 1
    assert len(downloaded(cache)) == 1
    assert run("rm", "owner/tiny", input="y\n").exit_code == 0
    assert downloaded(cache) == []


def test_one_revision_goes_and_what_others_need_stays(run, put, sketch, cache):
    put("owner/tiny", sketch)
    put("owner/tiny", {**sketch, "generation_config.json": b"{}"}, commit=OTHER, refs=("v2",))
    assert run("rm", "owner/tiny@v2", "--yes").exit_code == 0
    (left,) = downloaded(cache)
    assert left.refs == ("main",)
    assert left.size_bytes == sum(map(len, sketch.values()))


def test_what_an_unfinished_download_left_can_be_removed(run, cache):
    blob = cache / "models--owner--tiny" / "blobs" / "x.mlxp.incomplete"
    blob.parent.mkdir(parents=True)
    blob.write_bytes(b"x")
    assert run("rm", "owner/tiny", "--yes").exit_code == 0
    assert not blob.exists()


@pytest.mark.parametrize("ref", ["owner/tiny", "tiny", "owner/tiny@v9"])
def test_what_is_not_here_cannot_be_removed(run, put, sketch, cache, ref):
    if "@" in ref:
        put("owner/tiny", sketch)
    result = run("rm", ref, "--yes")
    assert result.exit_code == 1
    assert "no model" in result.output
    assert len(downloaded(cache)) == ("@" in ref)


def test_serve_names_the_command_that_fetches_a_model(run):
    result = run("serve", "owner/tiny", "--port", "0")
    assert result.exit_code == 1
    assert "mlxp get owner/tiny" in result.output
