"""What MLX says of itself. Run as a process of its own, because a broken installation may end the process."""

import os
import sys
from importlib.metadata import version
from pathlib import Path

import msgspec

from mlxp_core.blas import load_fast_blas
from mlxp_core.cli.checks import MlxFacts
from mlxp_core.cli.folders import cache_folder

_BLAS = ("blas", "mkl", "blis", "Accelerate")


def probe() -> MlxFacts:
    """Compute something as a server would, and look at what that loaded."""
    fast = load_fast_blas(os.environ, cache_folder(os.environ, Path.home()))
    import mlx.core as mx  # after the library that takes the place of its own

    mx.eval(mx.ones((2, 2)) @ mx.ones((2, 2)))
    gpu = "Metal" if mx.metal.is_available() else "CUDA"
    device = "CPU" if mx.default_device() == mx.Device(mx.cpu, 0) else gpu
    return MlxFacts(version("mlx"), device, (Path(fast).name,) if fast else _loaded(Path("/proc/self/maps")))


def _loaded(maps: Path) -> tuple[str, ...]:
    if not maps.is_file():
        return ()
    files = {
        Path(line.split()[-1]).name for line in maps.read_text(encoding="utf-8").splitlines() if "/" in line
    }
    return tuple(sorted(name for name in files if ".so" in name and any(word in name for word in _BLAS)))


if __name__ == "__main__":
    sys.stdout.buffer.write(msgspec.json.encode(probe()))
