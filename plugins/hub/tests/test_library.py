"""What is on disk, whoever put it there."""

import json
import os

import pytest

from mlxp_core.errors import SetupError
from mlxp_hub.library import INDEX, current, downloaded, find

OTHER = "f" * 40
TINY = {
    "config.json": json.dumps({"model_type": "tiny", "quantization": {"bits": 4, "group_size": 64}}).encode(),
    "tokenizer.json": b"{}",
    "model.safetensors": b"weights",
}


def of_type(kind, **more):
    return {**TINY, "config.json": json.dumps({"model_type": kind, **more}).encode()}


def age(path, seconds):
    for file in path.rglob("*"):
        os.utime(file, (seconds, seconds))


def test_a_folder_that_is_not_there_holds_nothing(cache):
    assert downloaded(cache) == []


def test_a_model_is_described(cache, put):
    path = put("owner/some--name".replace("--", "-"), TINY)
    (model,) = downloaded(cache)
    assert (model.repo, model.path, model.refs, model.commit) == (
        "owner/some-name",
        path,
        ("main",),
        path.name,
    )
    assert (model.model_type, model.bits, model.group_size) == ("tiny", 4, 64)
    assert model.size_bytes == sum(map(len, TINY.values()))


@pytest.mark.parametrize("absent", sorted(TINY))
def test_a_model_that_lacks_a_file_does_not_count(cache, put, absent):
    put("o/n", {name: content for name, content in TINY.items() if name != absent})
    assert downloaded(cache) == []


@pytest.mark.parametrize(
    ("index", "whole"),
    [
        ({"weight_map": {"a": "model-1.safetensors"}}, True),
        ({"weight_map": {"a": "model-1.safetensors", "b": "model-2.safetensors"}}, False),
        ({"weight_map": {}}, False),
        ({"weight_map": {"a": 1}}, False),
        ([], False),
    ],
)
def test_every_file_that_the_index_names_must_be_here(cache, put, index, whole):
    files = {**TINY, INDEX: json.dumps(index).encode(), "model-1.safetensors": b"x"}
    put("o/n", files)
    assert bool(downloaded(cache)) is whole


@pytest.mark.parametrize("config", [b"", b"[]", b"\xff", b'{"model_type": 3, "quantization": 4}'])
def test_a_configuration_that_makes_no_sense_is_no_reason_to_fail(cache, put, config):
    put("o/n", {**TINY, "config.json": config})
    (model,) = downloaded(cache)
    assert (model.model_type, model.bits) == ("", None)


def test_a_link_that_leads_nowhere_is_a_file_that_is_absent(cache, put):
    path = put("o/n", TINY)
    (path / "model.safetensors").resolve().unlink()
    assert downloaded(cache) == []


def test_the_current_revision_is_what_main_names_else_the_newest(cache, put):
    age(put("a/named", TINY, refs=("main",)), 1000)
    age(put("a/named", of_type("new"), commit=OTHER, refs=("v2",)), 2000)
    age(put("a/unnamed", TINY, refs=()), 1000)
    age(put("a/unnamed", of_type("new"), commit=OTHER, refs=()), 2000)
    assert {model.repo: model.model_type for model in current(downloaded(cache))} == {
        "a/named": "tiny",
        "a/unnamed": "new",
    }


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("mlx/gemma-4", "mlx/gemma-4"),
        ("MLX/Gemma-4", "mlx/gemma-4"),
        ("mlx/gemma-4-it", "mlx/gemma-4-it"),
        ("-it", "mlx/gemma-4-it"),
        ("QWEN", "mlx/qwen"),
        ("qwen3_5", "mlx/qwen"),
        ("nothing", None),
        ("", None),
        ("helper", None),
        ("mlx/helper", "mlx/helper"),
    ],
)
def test_the_exact_name_goes_before_a_part_of_one(cache, put, text, meant):
    put("mlx/gemma-4", of_type("gemma4"))
    put("mlx/gemma-4-it", of_type("gemma4"))
    put("mlx/qwen", of_type("qwen3_5"))
    put("mlx/helper", of_type("gemma4_assistant"))
    found = find(text, downloaded(cache))
    assert (found and found.repo) == meant


def test_a_part_of_several_names_is_refused_with_all_of_them(cache, put):
    put("mlx/gemma-4", of_type("gemma4"))
    put("mlx/gemma-5", of_type("gemma5"))
    put("mlx/gemma-assistant", of_type("gemma4_assistant"))
    with pytest.raises(SetupError, match="may mean mlx/gemma-4, mlx/gemma-5; name one"):
        find("gemma", downloaded(cache))


@pytest.mark.parametrize(
    ("revision", "kind"),
    [("main", "old"), ("v2", "new"), (OTHER[:7], "new"), (OTHER, "new"), ("v3", None), ("fff", None)],
)
def test_a_revision_is_found_by_a_name_or_the_beginning_of_its_hash(cache, put, revision, kind):
    put("o/n", of_type("old"))
    put("o/n", of_type("new"), commit=OTHER, refs=("v2",))
    found = find(f"o/n@{revision}", downloaded(cache))
    assert (found and found.model_type) == kind
