"""The benchmark of servers, all measures once, with a real server and a checkpoint of its own."""

import re

import pytest

from benchmarks.serving.checkpoints.write import WORDS, write
from benchmarks.serving.measure import MEASURES, measured
from benchmarks.serving.presets import PRESETS
from benchmarks.serving.profiles import profiles
from benchmarks.serving.report import label, markdown
from benchmarks.serving.results import Run, read
from benchmarks.serving.results import write as write_runs


@pytest.fixture(scope="module")
def checkpoints(tmp_path_factory):
    return tmp_path_factory.mktemp("checkpoints")


@pytest.fixture(scope="module")
def run(checkpoints, tmp_path_factory):
    """One round of one server."""
    model = write(checkpoints, "nano-llama")
    work = tmp_path_factory.mktemp("work")
    block = measured(profiles()["mlxp"], model, PRESETS["smoke"], "0", work, work)
    return Run(
        model=model.name,
        preset=PRESETS["smoke"],
        begun="today",
        machine="this one",
        what={"mlxp": "this one"},
        blocks={"mlxp": [block]},
    )


def test_every_answer_is_as_long_as_was_asked_and_rightly_counted(run):
    (block,) = run.blocks["mlxp"]
    assert block.failed is None
    assert (block.counts.errors, block.counts.notes) == (0, [])
    assert (block.counts.short, block.counts.miscounted) == (0, 0)


def test_all_measures_find_something_and_nothing_takes_no_time(run):
    assert set(PRESETS["smoke"].measures) == set(MEASURES)
    found = run.names()
    for name in (
        "ready_s",
        "first_short_s",
        "first_prefix_s",
        "together2_first_max_s",
        "agent_s",
    ):
        assert name in found
    for name in ("first_behind_cut_s", "arrivals8_first_p99_s", "context64_cold_s"):
        assert name in found
    waits = [name for name in found if name.endswith("_s") and "processor" not in name]
    assert all(value > 0 for name in waits for value in run.values("mlxp", name))


def test_what_was_known_is_found_again(run):
    assert run.median("mlxp", "cached_same") > run.median("mlxp", "cached_prefix") > 30


def test_a_report_names_everything_and_is_read_back(run, tmp_path):
    text = markdown(run)
    assert all(f"| {label(name)} |" in text for name in run.names())
    assert not [name for name in run.names() if re.search("_(s|ms|tps|mb)$", label(name))]
    write_runs([run], tmp_path / "run.json")
    assert read(tmp_path / "run.json") == [run]


@pytest.mark.parametrize("name", ["nano-llama", "nano-hybrid"])
def test_a_checkpoint_is_written_once(name, checkpoints):
    there = write(checkpoints, name)
    before = (there / "model.safetensors").stat().st_mtime_ns
    assert write(checkpoints, name) == there
    assert (there / "model.safetensors").stat().st_mtime_ns == before
    assert (there / WORDS).is_file()
