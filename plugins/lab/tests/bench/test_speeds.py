"""What is measured is kept, and shown beside what is predicted."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlxp_core.types import MeasuredSpeed
from mlxp_lab.bench.speeds import Speed, Speeds, last_speed


def speed(folder="/m", at=1, tps=10.0):
    return Speed(
        measured_at=at,
        folder=folder,
        model="m",
        weight_bytes=1,
        machine="x",
        prompt_tokens=5,
        tokens=5,
        runs=1,
        prefill_tps=100.0,
        decode_tps=tps,
        predicted_decode_tps=None,
        peak_bytes=1,
        versions="1",
    )


@settings(max_examples=20, deadline=None)
@given(kept=st.lists(st.tuples(st.sampled_from(["/a", "/b"]), st.integers(0, 100)), max_size=8))
def test_the_newest_of_a_model_counts(tmp_path_factory, kept):
    lab = tmp_path_factory.mktemp("lab")
    speeds = Speeds(lab)
    for place, (folder, at) in enumerate(kept):
        speeds.add(speed(folder, at, tps=float(place + 1)))
    newest = {
        folder: max((at for name, at in kept if name == folder), default=None) for folder in ("/a", "/b")
    }
    assert [each.measured_at for each in speeds.newest(100)] == sorted((at for _, at in kept), reverse=True)
    speeds.close()
    for folder, at in newest.items():
        told = last_speed(lab, lab.__class__(folder))
        assert (told is None) == (at is None)
        assert told is None or told.measured_at == at


def test_asking_makes_no_lab(tmp_path):
    assert last_speed(tmp_path / "lab", tmp_path) is None
    assert not (tmp_path / "lab").exists()


def test_a_model_is_measured_and_shown_beside_what_is_predicted(lab_with_families, mlxp, tiny_checkpoints):
    model = str(tiny_checkpoints / "minicpm5")
    assert "nothing was measured" in mlxp("speeds").stderr
    done = mlxp("bench", model, "--prompt-tokens", "40", "--tokens", "8", "--runs", "2")
    assert "minicpm5" in done.stdout
    (kept,) = json.loads(mlxp("speeds", "--json").stdout)
    assert (kept["prompt_tokens"], kept["tokens"], kept["runs"]) == (40, 8, 2)
    assert kept["prefill_tps"] > 0
    fit = json.loads(mlxp("fit", model, "--json", check=False).stdout)
    assert fit["measured_decode_tps"] == kept["decode_tps"] > 0
    assert fit["measured_prefill_tps"] == kept["prefill_tps"]
    assert fit["measured_at"] == kept["measured_at"]
    assert "measured" in mlxp("fit", model, check=False).stdout
    told = lab_with_families.desk.site
    assert last_speed(told.folder, tiny_checkpoints / "minicpm5") == MeasuredSpeed(
        decode_tps=kept["decode_tps"], prefill_tps=kept["prefill_tps"], measured_at=kept["measured_at"]
    )


@pytest.mark.parametrize("asked", [("--tokens", "0"), ("--runs", "x"), ("--prompt-tokens", "-1")])
def test_what_cannot_be_measured_is_refused(mlxp, lab_with_families, tiny_checkpoints, asked):
    done = mlxp("bench", str(tiny_checkpoints / "minicpm5"), *asked, check=False)
    assert done.returncode != 0
    assert lab_with_families.desk.store.newest() == []
