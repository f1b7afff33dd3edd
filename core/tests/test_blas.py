"""A fast BLAS: found, tried, and put in MLX's way before MLX is there."""

import json
import shutil
import subprocess
import sys
from importlib.util import find_spec

import pytest

from mlxp_core.blas import PACKAGE

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="only MLX for Linux lacks one")
PACKAGED = pytest.mark.skipif(find_spec(PACKAGE) is None, reason=f"needs {PACKAGE}")

PROGRAM = """
import json, os, sys
from pathlib import Path
from mlxp_core.blas import load_fast_blas
from mlxp_core.errors import SetupError
if "late" in sys.argv:
    import mlx.core
try:
    found = load_fast_blas(os.environ, Path(sys.argv[1]))
except SetupError as error:
    print(json.dumps({"error": error.message}))
    raise SystemExit
import mlx.core as mx
a = mx.arange(6 * 70, dtype=mx.float32).reshape(6, 70) % 5
product = (a @ a.T).tolist()
print(json.dumps({"found": found, "product": product}))
"""


def told(folder, *arguments, **environment):
    """Return what a process of its own says."""
    command = [sys.executable, "-c", PROGRAM, str(folder), *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, check=True, text=True)
    return json.loads(done.stdout)


@LINUX
@PACKAGED
def test_the_packaged_library_computes_the_same(tmp_path):
    fast, again = told(tmp_path), told(tmp_path)
    assert str(tmp_path) in fast["found"]
    assert again == fast
    assert len(list(tmp_path.iterdir())) == 1
    assert told(tmp_path, MLXP_BLAS="off") == {"found": None, "product": fast["product"]}


@LINUX
def test_what_is_no_such_library_is_refused(tmp_path):
    text = told(tmp_path, MLXP_BLAS="libm.so.6")["error"]
    assert "MLXP_BLAS=libm.so.6" in text
    assert "cblas_sgemm" in text


@LINUX
def test_a_library_that_computes_wrongly_is_not_taken(tmp_path):
    compiler = shutil.which("cc") or pytest.skip("needs a C compiler")
    source, library = tmp_path / "wrong.c", tmp_path / "libwrong.so"
    source.write_text("".join(f"void cblas_{kind}gemm() {{}}\n" for kind in "sdc"))
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, source], check=True)
    assert "computes" in told(tmp_path, MLXP_BLAS=str(library))["error"]


@LINUX
def test_a_cache_that_cannot_be_written_is_no_fault(tmp_path):
    taken = tmp_path / "file"
    taken.write_text("")
    assert str(tmp_path) not in str(told(taken)["found"])


def test_it_is_too_late_once_mlx_is_there(tmp_path):
    assert told(tmp_path, "late")["found"] is None
