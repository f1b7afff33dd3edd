"""The command line in a folder of its own, away from the settings of whoever runs the tests."""

import os

import pytest
from click.testing import CliRunner

from mlxp_core.cli.main import mlxp


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run ``mlxp`` with arguments; returns click's result."""
    for variable in [name for name in os.environ if name.startswith("MLXP_")]:
        monkeypatch.delenv(variable)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: CliRunner().invoke(mlxp, list(arguments), prog_name="mlxp")
