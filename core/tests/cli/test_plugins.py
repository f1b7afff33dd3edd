import json
import subprocess
import sys


def test_the_module_runs_as_a_program_and_lists_plugins_as_json(tmp_path):
    command = [sys.executable, "-m", "mlxp_core", "plugins", "--json", "--disable", "folders"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
    listed = {each["name"]: each for each in json.loads(done.stdout)}
    assert listed["folders"]["state"] == "off"
    assert listed["folders"]["dist"] == "mlxp-core"


def test_the_table_shows_name_state_and_what_is_brought(run):
    result = run("plugins")
    assert result.exit_code == 0
    row = next(line for line in result.output.splitlines() if "folders" in line)
    assert " on " in row
    assert "mlxp-core" in row


def test_flags_and_the_file_choose_plugins(run, tmp_path):
    (tmp_path / "other.toml").write_text('[plugins]\ndisable = ["folders"]')
    listed = json.loads(run("plugins", "--json", "--config", "other.toml").output)
    assert {each["name"]: each["state"] for each in listed}["folders"] == "off"


def test_a_name_that_is_not_installed_is_refused_with_a_suggestion(run):
    result = run("plugins", "--disable", "folder")
    assert result.exit_code == 1
    assert "did you mean 'folders'" in result.stderr
