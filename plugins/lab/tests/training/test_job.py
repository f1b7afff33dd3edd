"""The job as others meet it: refused where it must be, killed and gone on with, by command."""

import json
import os
import signal

import mlx.core as mx
import pytest

from mlxp_core.workshop import open_adapter
from mlxp_lab.jobs import BadParameters
from mlxp_lab.jobs.parameters import prepared, read_parameters
from mlxp_lab.training.job import KIND

FAULTY = ['{"text": "a"}', '{"txt": "b"}', "{", '{"text": "c"}']


@pytest.fixture
def wrong(school, tmp_path, monkeypatch):
    """A lab, good rows, and beside them files that are of no use."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "faulty.jsonl").write_text("\n".join(FAULTY))
    (tmp_path / "empty.jsonl").write_text("\n")
    (tmp_path / "pairs.jsonl").write_text(json.dumps({"prompt": "a", "chosen": "b", "rejected": "c"}))
    (school.site.adapters / "there").mkdir(parents=True)
    return school.site, str(school.dataset(school.chats(3)))


@pytest.mark.parametrize(
    ("asked", "param", "message"),
    [
        ({"model": "no/such"}, "model", "no/such"),
        ({"data": "no such"}, "data", "no such"),
        ({"data": "faulty.jsonl"}, "data", "line 2: .*line 3: "),
        ({"data": "empty.jsonl"}, "data", "no rows"),
        ({"method": "dpo"}, "data", "prompt, chosen and rejected"),
        ({"data": "pairs.jsonl"}, "data", "use method dpo or orpo"),
        ({"data": "pairs.jsonl", "method": "dpo", "pack": True}, "pack", "sft"),
        ({"method": "ppo"}, "method", "method"),
        ({"rank": 0}, "rank", "rank"),
        ({"dropout": 1.0}, "dropout", "dropout"),
        ({"learning_rate": 0}, "learning_rate", "learning_rate"),
        ({"batch_rows": 0}, "batch_rows", "batch_rows"),
        ({"epochs": -1.0}, "epochs", "epochs"),
        ({"output": "there"}, "output", "is there already"),
    ],
)
def test_what_is_wrong_is_told_before_anything_is_computed(wrong, tiny_checkpoints, asked, param, message):
    site, data = wrong
    given = {"model": str(tiny_checkpoints / "minicpm5"), "data": data, **asked}
    with pytest.raises(BadParameters, match=message) as refused:
        prepared(KIND, read_parameters(KIND, given), site)
    assert (refused.value.param or "").partition("[")[0] == param


@pytest.mark.parametrize("read", ["model", "data"])
def test_what_is_read_is_not_replaced(wrong, tiny_checkpoints, read):
    site, data = wrong
    given = {"model": str(tiny_checkpoints / "minicpm5"), "data": data}
    with pytest.raises(BadParameters, match="cannot be replaced") as refused:
        prepared(KIND, read_parameters(KIND, {**given, "output": given[read], "replace": True}), site)
    assert refused.value.param == "output"


def test_killed_it_has_made_nothing_and_resumed_it_is_what_it_would_have_been(
    mlxp, home, lab_with_families, school, tiny_checkpoints, until
):
    lab, data = lab_with_families, str(school.dataset(school.chats(12)))
    asked = {"model": str(tiny_checkpoints / "minicpm5"), "data": data, "steps": 24, "batch_rows": 2}
    asked |= {"checkpoint_steps": 2, "eval_steps": 8, "report_steps": 1, "dropout": 0.1}
    job = lab.desk.submit("train", {**asked, "output": "killed"})
    lab.supervisor.tend()
    until(lambda: lab.desk.get(job.id).message.startswith("step ") or lab.desk.get(job.id).ended)
    os.kill(lab.desk.get(job.id).whose.pid, signal.SIGKILL)
    until(lambda: lab.supervisor.bury() or lab.desk.get(job.id).ended)
    adapters = home.parent / "adapters"
    assert not (adapters / "killed").exists()
    lab.desk.resume(job.id)
    assert mlxp("jobs", "watch", job.id).stderr.splitlines()[-1].startswith(f"{job.id} is done")
    options = [
        f"--{name.replace('_', '-')}={value}"
        for name, value in asked.items()
        if name not in {"model", "data"}
    ]
    said = mlxp("train", asked["model"], data, "-o", "whole", *options)
    assert "serve with it: mlxp serve" in said.stdout
    one, other = (mx.load(str(adapters / name / "adapters.safetensors")) for name in ("killed", "whole"))
    assert all(mx.allclose(one[name], other[name], rtol=1e-3, atol=1e-5) for name in other)
    assert open_adapter(adapters / "whole").base_model == "minicpm5"


def test_looking_at_a_dataset_by_command(mlxp, lab_with_families, school, tiny_checkpoints, tmp_path):
    model = str(tiny_checkpoints / "minicpm5")
    good = school.dataset(school.chats(5), school.chats(2))
    told = json.loads(mlxp("train", model, str(good), "--inspect", "--json").stdout)
    assert (told["form"], told["rows"], told["valid_rows"], told["good"]) == ("chat", 5, 2, True)
    assert 0 < told["learned"] < told["tokens"]["total"]
    assert [piece["text"] for piece in told["sample"] if piece["learned"]]
    faulty = tmp_path / "faulty.jsonl"
    faulty.write_text("\n".join(FAULTY))
    seen = mlxp("train", model, str(faulty), "--inspect", check=False)
    assert seen.returncode == 1
    assert [line.partition(": ")[0] for line in seen.stderr.splitlines()] == [
        "train.jsonl, line 2",
        "train.jsonl, line 3",
    ]
