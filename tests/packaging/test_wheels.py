"""The wheels, as a stranger gets them: built, installed with pip into a bare environment, listed, serving."""

import json
import subprocess
import sys
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
STRANGERS = ROOT / "tests" / "third_party"
OURS = [ROOT, ROOT / "core", *sorted(path.parent for path in ROOT.glob("plugins/*/pyproject.toml"))]


def _run(*command, **options):
    done = subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, check=False, **options
    )
    assert done.returncode == 0, f"{command}: {done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def wheels(tmp_path_factory):
    """Every wheel of the repository, the strangers' included."""
    out = tmp_path_factory.mktemp("wheels")
    for folder in [*OURS, *sorted(STRANGERS.glob("mlxp-*"))]:
        _run(sys.executable, "-m", "uv", "build", "--quiet", "--wheel", "--out-dir", out, folder)
    return out


@pytest.fixture(scope="module")
def bare(wheels, tmp_path_factory):
    """A new environment with everything of ours and the strangers' plugins; returns its bin folder."""
    home = tmp_path_factory.mktemp("bare")
    venv.create(home, with_pip=True)
    server = next(wheels.glob("mlxp_server-*.whl"))
    strangers = [
        next(wheels.glob(f"{folder.name.replace('-', '_')}-*.whl")) for folder in STRANGERS.glob("mlxp-*")
    ]
    extra = "[cpu]" if sys.platform == "linux" else ""
    testing = next(wheels.glob("mlxp_core-*.whl"))
    pip = (home / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    _run(*pip, "--find-links", wheels, f"{server}{extra}", f"{testing}[testing]", *strangers)
    return home / "bin"


def test_the_codeless_wheel_holds_metadata_only(wheels):
    names = _run(sys.executable, "-m", "zipfile", "-l", next(wheels.glob("mlxp_server-*.whl")))
    files = [line.split()[0] for line in names.splitlines()[1:]]
    assert files
    assert all(".dist-info/" in name for name in files)


def test_every_plugin_is_listed(bare, tmp_path):
    listed = json.loads(_run(bare / "mlxp", "plugins", "--json", cwd=tmp_path))
    states = {plugin["name"]: plugin["state"] for plugin in listed}
    expected = {"gemma4", "minicpm5", "native", "openai-chat", "qwen35", "parrot", "plaintext", "gemma3"}
    assert expected <= set(states)
    assert set(states.values()) == {"on"}


@pytest.mark.parametrize("stranger", sorted(folder.name for folder in STRANGERS.glob("mlxp-*")))
def test_the_strangers_own_suites_are_green(bare, stranger, tmp_path):
    suite = STRANGERS / stranger / "tests"
    _run(
        bare / "python",
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "--rootdir",
        suite,
        suite,
        cwd=tmp_path,
    )
