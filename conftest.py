"""What every suite of the repository may use: the shared data files, where they are present."""

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
