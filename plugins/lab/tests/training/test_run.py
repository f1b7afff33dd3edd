"""A run as a whole: interrupted or not it is the same, and what is kept is the best of it."""

import json
import shutil

import mlx.core as mx
import pytest

from mlxp_lab.jobs import JobFailed
from mlxp_lab.training.checkpoints import FILE

WARY = {"steps": 6, "learning_rate": 5e-3, "batch_rows": 2, "eval_steps": 2, "checkpoint_steps": 3}
SAME = 1e-4
"""How near numbers of two runs are that did the same."""


def adapter(folder):
    return mx.load(str(folder / "adapters.safetensors"))


def alike(one, other):
    """Say whether two adapters are the same."""
    assert one.keys() == other.keys()
    return all(mx.allclose(one[name], other[name], rtol=SAME, atol=1e-6) for name in one)


@pytest.mark.parametrize("stopped", [1, 3])
def test_a_run_that_was_interrupted_is_the_run_that_was_not(school, stopped):
    asked = {**WARY, "dropout": 0.3, "accumulate": 2, "optimizer": "adamw", "report_steps": 2}
    data = school.dataset(school.chats(12))
    whole, result, told = school("minicpm5", data, output="whole", work="one", **asked)
    _, nothing, before = school("minicpm5", data, output="parts", work="two", stop_after=stopped, **asked)
    assert nothing is None
    assert not (whole.parent / "parts").exists()
    parts, again, after = school("minicpm5", data, output="parts", work="two", **asked)
    for name in ("loss", "grad_norm", "learning_rate", "valid_loss"):
        assert {**before.told(name), **after.told(name)} == pytest.approx(told.told(name), rel=SAME)
    assert len(after.told("loss")) < len(told.told("loss"))
    assert alike(adapter(parts), adapter(whole))
    same = ("steps", "tokens", "train_loss", "valid_loss", "best_step")
    assert [again.summary[name] for name in same] == pytest.approx(
        [result.summary[name] for name in same], rel=SAME
    )
    history = [json.loads((folder / "training.json").read_text())["history"] for folder in (parts, whole)]
    assert [each["step"] for each in history[0]] == [each["step"] for each in history[1]]


def test_the_best_is_kept_and_the_run_ends_when_there_is_no_better(school):
    lessons = school.chats(8)
    others = [{"text": "zz qq xx"}, {"text": "9 8 7 6"}]
    data = school.dataset(({"text": row["messages"][1]["content"]} for row in lessons), others)
    asked = {**WARY, "steps": 40, "schedule": "constant", "learning_rate": 2e-2, "patience": 2}
    best, result, told = school("minicpm5", data, output="best", work="one", **asked)
    losses = told.told("valid_loss")
    step = result.summary["best_step"]
    assert result.summary["stopped_early"]
    assert result.summary["steps"] == step + 2 * asked["eval_steps"] < asked["steps"]
    assert result.summary["valid_loss"] == min(loss for at, loss in losses.items() if at) == losses[step]
    last, *_ = school("minicpm5", data, output="to", work="two", keep="last", **{**asked, "steps": step})
    assert alike(adapter(best), adapter(last))


def test_the_same_seed_is_the_same_run_and_another_one_is_not(school):
    data = school.dataset(school.chats(6))
    runs = [
        school("minicpm5", data, work=f"run {number}", **{**WARY, "steps": 2, "seed": seed})[2].told("loss")
        for number, seed in enumerate((7, 7, 8))
    ]
    assert runs[0] == pytest.approx(runs[1], rel=SAME)
    assert runs[0] != pytest.approx(runs[2], rel=SAME)


def test_an_epoch_sees_every_row_once(school):
    data = school.dataset(school.chats(9))
    _, result, told = school("minicpm5", data, epochs=2, batch_rows=2, valid_share=0.0, learning_rate=1e-4)
    assert result.summary["steps"] == 10
    assert told.told("epoch")[10] == 2
    once = school("minicpm5", data, epochs=1, batch_rows=2, valid_share=0.0, work="other")[1].summary[
        "tokens"
    ]
    assert result.summary["tokens"] == 2 * once


@pytest.mark.parametrize("method", ["dpo", "orpo"])
def test_preferences_are_learned_and_an_interrupted_run_goes_on(school, method):
    data = school.dataset(school.preferences(6))
    asked = {**WARY, "method": method, "valid_share": 0.0, "schedule": "constant", "learning_rate": 2e-2}
    _, _, before = school("minicpm5", data, stop_after=2, work="parts", **asked)
    _, result, after = school("minicpm5", data, work="parts", **asked)
    _, _, whole = school("minicpm5", data, work="whole", **asked)
    for name in ("loss", "accuracy", "margin"):
        assert {**before.told(name), **after.told(name)} == pytest.approx(
            whole.told(name), rel=SAME, abs=1e-4
        )
    assert whole.told("margin")[6] > max(0.0, whole.told("margin")[1])
    assert result.summary["method"] == method


def test_other_rows_than_the_run_began_with_are_refused(school):
    data = school.dataset(school.chats(6))
    school("minicpm5", data, stop_after=1, **WARY)
    school.dataset(school.chats(7))
    with pytest.raises(JobFailed, match="the rows are others"):
        school("minicpm5", data, **WARY)


def test_a_damaged_checkpoint_is_told(school, tmp_path):
    data = school.dataset(school.chats(6))
    school("minicpm5", data, stop_after=1, **WARY)
    file = tmp_path / "work" / FILE
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    with pytest.raises(JobFailed, match="cannot be read"):
        school("minicpm5", data, **WARY)
    shutil.rmtree(file.parent)
    assert school("minicpm5", data, **{**WARY, "steps": 1})[1] is not None


def test_a_loss_that_is_no_number_ends_the_run(school):
    data = school.dataset(school.chats(6))
    wild = {**WARY, "optimizer": "sgd", "learning_rate": 1e30, "clip": None, "schedule": "constant"}
    with pytest.raises(JobFailed, match="take a lower learning_rate"):
        school("minicpm5", data, **wild)


def test_rows_that_are_too_long_are_cut_and_those_without_a_rest_dropped(school):
    rows = [
        *school.chats(4),
        {"messages": [{"role": "user", "content": "long " * 200}, {"role": "assistant", "content": "a"}]},
    ]
    data = school.dataset(rows)
    _, result, told = school("minicpm5", data, steps=1, valid_share=0.0, max_tokens=60)
    assert (result.summary["rows"], result.summary["dropped"]) == (4, 1)
    assert "1 have nothing to learn within 60 tokens" in told.lines[0]


def test_the_base_is_evaluated_first_and_terms_change_nothing_yet(school):
    data = school.dataset(school.chats(4), school.chats(2))
    losses = [
        school("minicpm5", data, work=f"run {seed}", **{**WARY, "steps": 1, "seed": seed})[2].told(
            "valid_loss"
        )[0]
        for seed in (1, 2)
    ]
    assert losses[0] == losses[1]


def test_an_adapter_that_does_worse_than_the_base_is_said_to(school):
    data = school.dataset(school.chats(4), school.chats(2))
    worse, better = (
        school("minicpm5", data, work=f"run {rate}", **{**WARY, "steps": 2, "learning_rate": rate})[2]
        for rate in (0.5, 5e-3)
    )
    assert "likelier to the base" in worse.lines[-1]
    assert "likelier" not in better.lines[-1]


@pytest.mark.parametrize("asked", [{"recompute": True}, {"pack": True}])
def test_memory_is_saved_and_the_run_is_the_same(school, asked):
    """With dropout, too, where blocks are computed again; and where rows are packed, of one pass."""
    data = school.dataset(school.chats(3))
    usual = {
        **WARY,
        "steps": 3,
        "batch_rows": 3,
        "valid_share": 0.0,
        "dropout": 0.2 if "recompute" in asked else 0.0,
    }
    runs = [
        school("minicpm5", data, work=f"run {place}", **{**usual, **more})[2].told("loss")
        for place, more in enumerate(({}, asked))
    ]
    assert runs[0] == pytest.approx(runs[1], rel=SAME)


@pytest.mark.parametrize(
    ("asked", "message"),
    [({"targets": ["lm_head"]}, "takes no adapters"), ({"pack": True}, "cannot be packed")],
)
def test_what_the_model_cannot_do_is_told_by_the_job(school, asked, message):
    data = school.dataset(school.chats(4))
    with pytest.raises(JobFailed, match=message):
        school("qwen35-moe", data, steps=1, **asked)


def test_a_file_without_rows_holds_nothing_out(school):
    data = school.dataset(school.chats(6))
    whole = school("minicpm5", data, steps=1, work="one")[1].summary
    (data / "valid.jsonl").write_text("\n")
    emptied = school("minicpm5", data, steps=1, work="two")[1].summary
    counted = ("rows", "valid_rows", "train_loss")
    assert [emptied[name] for name in counted] == [whole[name] for name in counted]
    assert emptied["valid_rows"] == 1
