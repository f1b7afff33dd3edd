import json

import pytest

from mlxp_core.cli.main import mlxp
from mlxp_core.loading.sketch import write_sketch


@pytest.fixture
def folder(tmp_path):
    return str(write_sketch(tmp_path / "sketch"))


def test_it_says_that_a_small_model_fits(run, folder):
    result = run("fit", folder, "--context", "100")
    assert result.exit_code == 0, result.output
    assert "sketch" in result.output
    assert "100 tokens" in result.output
    assert "yes" in result.output


def test_json_holds_every_number(run, folder):
    told = json.loads(run("fit", folder, "--json", "--batch", "3", "--memory-budget", "1GB").output)
    report = told["report"]
    assert (report["fits"], report["rows"], report["usable_bytes"]) == (True, 3, 10**9)
    assert report["context_tokens"] == report["max_safe_context"] == told["context_tokens"]
    assert report["weights_bytes"] > 0
    assert told["sku_matrix"] == []


def test_what_does_not_fit_is_told_with_numbers_and_the_exit_status(run, folder):
    result = run("fit", folder, "--context", "100", "--memory-budget", "20kB")
    assert result.exit_code == 1
    assert "no" in result.output
    assert "20.0 kB" in result.output


def test_every_apple_computer_is_shown_where_asked(run, folder):
    told = json.loads(run("fit", folder, "--skus", "--json").output)
    assert len(told["sku_matrix"]) == 41
    assert all(sku["fits"] for sku in told["sku_matrix"])
    assert "M4 Max 128 GB" in run("fit", folder, "--skus").output


@pytest.mark.parametrize(
    ("arguments", "why"),
    [(("--memory-budget", "much"), "memory_budget"), (("--context", "99999999"), "--context 99999999")],
)
def test_what_cannot_be_is_refused_by_name(run, folder, arguments, why):
    result = run("fit", folder, *arguments)
    assert result.exit_code == 1
    assert why in result.stderr


def test_its_flags_are_explained():
    assert {
        parameter.name for parameter in mlxp.get_command(mlxp.make_context("mlxp", ["fit"]), "fit").params
    } >= {
        "context",
        "batch",
        "skus",
        "as_json",
    }
