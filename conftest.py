"""What every suite of the repository may use: the shared data files, where they are present."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent


@pytest.fixture(scope="session")
def shared():
    """The folder of shared data (tokenizers, templates, checkpoint tools); skips where it is absent."""
    folder = Path(os.environ.get("MLXP_SHARED", ROOT.parent / "shared"))
    if not folder.is_dir():
        pytest.skip("the shared data folder is absent (set MLXP_SHARED)")
    return folder


@pytest.fixture(scope="session")
def tiny_checkpoints(shared, tmp_path_factory):
    """A folder with tiny random checkpoints of every family variant, made once per session."""
    out = tmp_path_factory.mktemp("tiny")
    script = shared / "tools" / "checkpoints" / "tiny_checkpoints.py"
    subprocess.run([sys.executable, str(script), str(out)], check=True, capture_output=True)
    return out


@pytest.fixture(scope="session")
def puppets(shared):
    """The maker of checkpoints that say what a script has them say."""
    source = shared / "tools" / "puppet" / "puppet.py"
    if not source.is_file():
        pytest.skip("the puppet maker is absent")
    spec = importlib.util.spec_from_file_location("puppet", source)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # its dataclasses look themselves up there
    spec.loader.exec_module(module)
    return module
