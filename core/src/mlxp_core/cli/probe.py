"""What MLX says of itself. Run as a process of its own, because a broken installation may end the process."""

import sys
from importlib.metadata import version
from pathlib import Path

import mlx.core as mx
import msgspec

from mlxp_core.cli.checks import MlxFacts

_BLAS = ("blas", "mkl", "blis", "Accelerate")


def probe() -> MlxFacts:
    """Compute something, and look at what that loaded."""
    mx.eval(mx.ones((2, 2)) @ mx.ones((2, 2)))
    gpu = "Metal" if mx.metal.is_available() else "CUDA"
    device = "CPU" if mx.default_device() == mx.Device(mx.cpu, 0) else gpu
    return MlxFacts(version("mlx"), device, _loaded(Path("/proc/self/maps")))


def _loaded(maps: Path) -> tuple[str, ...]:
    if not maps.is_file():
        return ()
    files = {
        Path(line.split()[-1]).name for line in maps.read_text(encoding="utf-8").splitlines() if "/" in line
    }
    return tuple(sorted(name for name in files if ".so" in name and any(word in name for word in _BLAS)))


if __name__ == "__main__":
    sys.stdout.buffer.write(msgspec.json.encode(probe()))
