"""The job as a whole: what it measures, what it makes of it, and what it says of that."""

import json
import os
import signal

import mlx.core as mx
import pytest

from mlxp_core.kv import QuantizedPolicy
from mlxp_core.loading.kv_config import kv_scheme
from mlxp_core.testing.networks import Session
from mlxp_core.types import EngineSettings
from mlxp_core.workshop import open_model
from mlxp_lab.jobs import BadParameters
from mlxp_lab.quantize.files import PAGE, REPORT
from mlxp_lab.quantize.inspect import inspect
from mlxp_lab.quantize.sensitivity import Record

SMALL = {"rows": 1, "row_tokens": 32, "candidate_bits": (3, 6)}


def lines(folder):
    return {line["name"]: line for line in json.loads((folder / REPORT).read_text())["lines"]}


@pytest.mark.parametrize("name", ["minicpm5", "gemma4-e2b-text", "qwen35-moe"])
def test_mixed_loses_less_on_held_out_texts_than_uniform_of_its_size(mixed, name):
    folder, result, _ = mixed(name)
    told = lines(folder)
    made, alike = told["mixed, as written"], told["uniform, 4bit-g64"]
    assert made["size_bytes"] <= alike["size_bytes"] * 1.005
    assert made["kl"] < alike["kl"]
    assert result.summary["bits_per_weight"] <= 4.53


def test_the_report_says_what_was_done_to_what(mixed, bench):
    folder, result, context = mixed("minicpm5")
    report = json.loads((folder / REPORT).read_text())
    assert report["method"] == "mixed"
    modules = open_model(folder, bench).network().model
    assert set(report["modules"]) == {path for path, each in modules.named_modules() if hasattr(each, "bits")}
    assert len(set(report["modules"].values())) > 1
    assert set(report["sensitivity"]) <= set(report["modules"])
    assert all(value >= 0 for each in report["sensitivity"].values() for value in each.values())
    assert "| mixed, as written |" in (folder / PAGE).read_text()
    assert (folder / "sensitivity.svg").read_text().startswith("<svg")
    fractions = [each[0] for each in context.said if isinstance(each, tuple)]
    assert fractions == sorted(fractions)
    assert fractions[-1] == 1.0
    assert result.output == folder


def test_fewer_bits_hurt_more(mixed):
    folder, _, _ = mixed("minicpm5")
    told = json.loads((folder / REPORT).read_text())["sensitivity"]
    mean = {
        label: sum(each[label] for each in told.values()) / len(told)
        for label in ("3bit-g64", "4bit-g64", "6bit-g64")
    }
    assert mean["3bit-g64"] > mean["4bit-g64"] > mean["6bit-g64"] > 0


def test_keys_and_values_get_bits_that_the_server_reads(mixed, bench):
    folder, _, _ = mixed("gemma4-e2b-text")
    scheme = kv_scheme(folder, EngineSettings())
    assert sum(storage.bits for storage in scheme.layers.values()) / len(scheme.layers) == pytest.approx(
        6, abs=1
    )
    assert {storage.bits for storage in scheme.layers.values()} == {4, 8}
    model = open_model(folder, bench).network("float32").model
    policy = QuantizedPolicy(mx.float32, scheme.layers)
    assert mx.isfinite(Session(model, policy=policy).read([[5, 6, 7, 8]])[0]).all()


def test_measurements_are_kept_for_another_target(quantized, site, monkeypatch):
    quantized("minicpm5", target_bpw=4.5, report=False, **SMALL)
    (kept,) = (site.folder / "sensitivities").iterdir()
    before = kept.read_bytes()
    asked = []
    monkeypatch.setattr(Record, "put", lambda *about: asked.append(about))
    quantized("minicpm5", target_bpw=5.0, report=False, **SMALL)
    assert asked == []
    assert kept.read_bytes() == before


def test_what_was_stopped_has_made_nothing_and_goes_on_where_it_was(quantized, site):
    folder, result, _ = quantized("minicpm5", target_bpw=4.5, stop_after=30, report=False, **SMALL)
    assert result is None
    assert not folder.exists()
    (kept,) = (site.folder / "sensitivities").iterdir()
    known = sum(len(each) for each in json.loads(kept.read_text()).values())
    assert 20 <= known < 60
    folder, result, _ = quantized("minicpm5", target_bpw=4.5, report=False, **SMALL)
    assert (folder / "config.json").is_file()


def test_an_eight_bit_reference_measures_nearly_the_same(quantized, site):
    quantized("minicpm5", target_bpw=4.5, report=False, **SMALL)
    quantized("minicpm5", target_bpw=4.5, report=False, reference="8bit", replace=True, **SMALL)
    one, other = (json.loads(path.read_text()) for path in (site.folder / "sensitivities").iterdir())
    ratio = [other[path]["3bit-g64"] / told["3bit-g64"] for path, told in one.items()]
    assert sum(ratio) / len(ratio) == pytest.approx(1, abs=0.25)


def test_uniform_is_reported_too_and_packed_sources_are_packed_again(quantized):
    folder, _, _ = quantized("minicpm5-4bit-g32", bits=3, rows=2, row_tokens=48)
    told = lines(folder)
    assert (told["as it was"]["kl"], told["as it was"]["bits_per_weight"]) == (0, 5.0)
    assert told["uniform, as written"]["kl"] > 0
    assert told["uniform, as written"]["bits_per_weight"] == pytest.approx(3.5)


@pytest.mark.parametrize(
    ("asked", "param"),
    [
        ({"model": "no/such"}, "model"),
        ({"bits": 7}, "bits"),
        ({"group_size": 48}, "group_size"),
        ({"group_size": 16}, "group_size"),
        ({"mode": "nf4"}, "mode"),
        ({"target_bpw": 2.0}, "target_bpw"),
        ({"target_bpw": 9.0}, "target_bpw"),
        ({"target_bpw": 4.5, "candidate_bits": [4]}, "candidate_bits"),
        ({"target_bpw": 4.5, "mode": "mxfp4"}, "target_bpw"),
        ({"kv_target": 2}, "kv_target"),
        ({"calibration": "no such file"}, "calibration"),
        ({"rows": 0}, "rows"),
        ({"calibration": "~nobody/texts"}, "calibration"),
        ({"output": "there"}, "output"),
        ({"output": "", "replace": True}, "output"),
    ],
)
def test_what_is_wrong_is_told_before_anything_is_computed(site, tiny_checkpoints, asked, param):
    from mlxp_lab.jobs.parameters import read_parameters  # noqa: PLC0415
    from mlxp_lab.quantize.job import KIND  # noqa: PLC0415

    (site.made_models / "there").mkdir(parents=True)
    with pytest.raises(BadParameters) as refused:
        KIND.prepare(read_parameters(KIND, {"model": str(tiny_checkpoints / "minicpm5"), **asked}), site)
    assert (refused.value.param or "").partition("[")[0] == param


def test_inspecting_says_what_each_way_costs(site, tiny_checkpoints, quantized):
    found = inspect(str(tiny_checkpoints / "minicpm5"), site)
    assert not found.packed
    assert inspect(str(tiny_checkpoints / "minicpm5-4bit-g64"), site).packed
    sizes = {offer.label: offer.size_bytes for offer in found.offers}
    assert list(sizes.values()) == sorted(sizes.values())
    for label, asked in (
        ("4bit-g64", {}),
        ("3bit-g32", {"bits": 3, "group_size": 32}),
        ("mxfp4", {"mode": "mxfp4"}),
    ):
        _, result, _ = quantized("minicpm5", report=False, replace=True, **asked)
        assert sizes[label] == pytest.approx(result.summary["size_bytes"], rel=0.01)


def test_by_command_killed_and_resumed_and_served_by_name(
    mlxp, home, lab_with_families, tiny_checkpoints, until
):
    lab = lab_with_families
    model = str(tiny_checkpoints / "minicpm5")
    job = lab.desk.submit("quantize", {"model": model, "output": "mine", "target_bpw": 4.5, **SMALL})
    lab.supervisor.tend()
    until(lambda: lab.desk.get(job.id).progress > 0.05)
    os.kill(lab.desk.get(job.id).whose.pid, signal.SIGKILL)
    until(lambda: lab.supervisor.bury() or lab.desk.get(job.id).ended)
    assert not (home / "models" / "mine").exists()
    lab.desk.resume(job.id)
    assert mlxp("jobs", "watch", job.id).stderr.splitlines()[-1].startswith(f"{job.id} is done")
    assert lab.desk.site.models.find("mine") == home / "models" / "mine"
    shown = json.loads(mlxp("quantize", "mine", "--inspect", "--json").stdout)
    assert shown["packed"]
