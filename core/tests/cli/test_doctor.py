import json

import pytest

from mlxp_core.cli import doctor as module
from mlxp_core.cli.checks import (
    MlxFacts,
    distribution_findings,
    mlx_findings,
    plugin_findings,
    python_finding,
)
from mlxp_core.contracts import PluginReport

WORKS = MlxFacts(version="0.32", device="CPU")
FAILS = MlxFacts(error="ImportError: libmlx.so: cannot open shared object file")


def levels(findings):
    return [finding.level for finding in findings]


@pytest.mark.parametrize(
    ("version", "level"), [((3, 10, 9), "wrong"), ((3, 11, 0), "ok"), ((3, 14, 1), "ok"), ((4, 0, 0), "ok")]
)
def test_python_must_be_new_enough(version, level):
    assert python_finding(version).level == level


def test_linux_without_a_back_end_is_told_what_to_install():
    (finding,) = mlx_findings(FAILS, {"mlx": "0.32"}, "linux")
    assert finding.level == "wrong"
    assert "mlxp-core[cuda]" in finding.text
    assert "mlxp-core[cpu]" in finding.text


@pytest.mark.parametrize(("installed", "platform"), [({"mlx-cpu": "1"}, "linux"), ({}, "darwin")])
def test_any_other_failure_is_shown_as_it_is(installed, platform):
    (finding,) = mlx_findings(FAILS, installed, platform)
    assert finding.level == "wrong"
    assert "libmlx.so" in finding.text


@pytest.mark.parametrize("cuda", ["mlx-cuda", "mlx-cuda-12", "mlx-cuda-13"])
def test_two_back_ends_are_wrong_because_they_share_a_file(cuda):
    findings = mlx_findings(MlxFacts(version="1", device="CUDA"), {"mlx-cpu": "1", cuda: "1"}, "linux")
    assert "wrong" in levels(findings)
    assert f"mlx-cpu and {cuda} write the same file" in findings[-1].text


def test_cuda_without_a_gpu_is_a_warning():
    assert "warning" in levels(mlx_findings(WORKS, {"mlx-cuda-13": "1"}, "linux"))


@pytest.mark.parametrize(
    ("library", "slow"),
    [("libblas-bd8a282c.so.3.10.0", True), ("libopenblas.so.0", False), ("libmkl_rt.so.2", False)],
)
def test_the_library_for_products_is_named_and_judged(library, slow):
    facts = MlxFacts(version="1", device="CPU", blas=(library,))
    (_, blas) = mlx_findings(facts, {"mlx-cpu": "1"}, "linux")
    assert library in blas.text
    assert ("slow" in blas.text) is slow


def test_the_unrelated_distribution_is_a_warning():
    assert levels(distribution_findings({"mlxp": "1.0", "mlxp-core": "0.1"})) == ["warning"]
    assert distribution_findings({"mlxp-core": "0.1"}) == []


def test_broken_plugins_are_wrong_and_their_oversights_warnings():
    broken = PluginReport(name="b", module="m", dist="d", version="1", state="broken", fault="no licence")
    lax = PluginReport(name="l", module="m", dist="d", version="1", state="on", warnings=("no bounds",))
    findings = plugin_findings([broken, lax])
    assert levels(findings) == ["ok", "wrong", "warning"]
    assert "no licence" in findings[1].text


def test_this_installation_is_examined_and_the_status_says_whether_it_is_well(run):
    result = run("doctor", "--json")
    findings = json.loads(result.output)
    assert {"mlxp", "python", "mlx", "settings", "plugins"} <= {finding["topic"] for finding in findings}
    assert result.exit_code == int(any(finding["level"] == "wrong" for finding in findings))


def test_wrong_settings_are_a_finding_and_status_1(run, tmp_path):
    (tmp_path / "mlxp.toml").write_text("[sever]")
    result = run("doctor")
    assert result.exit_code == 1
    assert "unknown section [sever]" in result.output


def test_mlx_that_cannot_be_loaded_is_reported_by_its_last_words(run, monkeypatch, tmp_path):
    broken = tmp_path / "broken" / "mlx"
    broken.mkdir(parents=True)
    (broken / "__init__.py").touch()
    (broken / "core.py").write_text("raise ImportError('libmlx.so is not there')")
    monkeypatch.setenv("PYTHONPATH", str(broken.parent))
    assert module._try_mlx().error == "ImportError: libmlx.so is not there"
