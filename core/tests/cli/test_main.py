import subprocess
import sys

import pytest

from mlxp_core import __version__
from mlxp_core.cli.main import COMMANDS
from mlxp_core.plugins.registry import CORE_COMMANDS

LAB = """
import click
from pathlib import Path
from mlxp_core import hookimpl
from mlxp_core.types import EngineSettings

@click.command("play")
@click.pass_obj
def play(bench):
    \"\"\"Play.\"\"\"
    click.echo(f"batch {bench.section(EngineSettings).batch}, {bench.appraise(Path('nowhere')).fault}")

@hookimpl
def mlxp_commands():
    return [play]
"""


def test_the_names_of_the_cores_commands_are_those_no_plugin_may_take():
    assert set(COMMANDS) == CORE_COMMANDS


@pytest.mark.parametrize(
    ("arguments", "status"), [(["--version"], 0), (["serve", "nowhere"], 1), (["fly"], 2)]
)
def test_the_process_ends_with_its_status_and_no_teardown(arguments, status, tmp_path):
    code = "import atexit; atexit.register(print, 'torn down'); from mlxp_core.cli.main import run; run()"
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert done.returncode == status
    assert done.stdout or done.stderr
    assert "torn down" not in done.stdout


def test_the_version_is_the_cores(run):
    assert __version__ in run("--version").output


def test_a_plugins_command_is_a_subcommand_and_gets_a_workbench(run, site, tmp_path):
    site.add("mlxp-play", {"play": LAB})
    (tmp_path / "mlxp.toml").write_text("[engine]\nbatch = 3")
    result = run("play")
    assert result.exit_code == 0, result.exception
    assert result.output.startswith("batch 3, ")
    assert "nowhere is no folder" in result.output


def test_help_lists_the_cores_commands_and_the_plugins(run, site):
    site.add("mlxp-play", {"play": LAB})
    output = run("--help").output
    assert all(name in output for name in (*COMMANDS, "play"))


def test_a_broken_plugin_takes_no_other_command_away(run, site):
    site.add("mlxp-play", {"play": "raise ValueError('broken')"})
    assert run("plugins").exit_code == 0
    assert "doctor" in run("--help").output


def test_help_is_shown_when_the_settings_are_wrong_and_says_what_is(run, tmp_path):
    (tmp_path / "mlxp.toml").write_text("[sever]")
    result = run("--help")
    assert result.exit_code == 0
    assert "doctor" in result.output
    assert "unknown section [sever]" in result.stderr


def test_an_error_of_ours_is_one_message_and_status_1(run, tmp_path):
    (tmp_path / "mlxp.toml").write_text("[server]\nprot = 1")
    result = run("plugins")
    assert result.exit_code == 1
    assert result.stderr.startswith("mlxp: ")
    assert "did you mean 'port'" in result.stderr
    assert "Traceback" not in result.output


def test_an_unknown_command_is_a_usage_error(run):
    result = run("nowhere")
    assert result.exit_code == 2
    assert "No such command 'nowhere'" in result.output


def test_listing_plugins_loads_neither_arrays_nor_the_server(tmp_path):
    code = (
        "import sys\nfrom mlxp_core.cli.main import mlxp\n"
        "mlxp(['plugins', '--json'], prog_name='mlxp', standalone_mode=False)\n"
        "print(sorted({'mlx', 'litestar', 'uvicorn', 'PIL', 'mlxp_core.cli.serve'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert done.stdout.splitlines()[-1] == "[]"
