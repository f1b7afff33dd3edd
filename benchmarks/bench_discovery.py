"""How long finding the plugins of 100 distributions takes: `python benchmarks/bench_discovery.py`; prints JSON.

Every distribution is installed as pip leaves it (metadata with a long description, a record, entry points) and every
one is a plugin, which is the dearest case: metadata is read only for distributions that have plugins.
"""

import argparse
import json
import platform
import statistics
import sys
import tempfile
import time
from pathlib import Path

from mlxp_core.plugins.discovery import discover

DESCRIPTION = "\n".join(f"Line {number} of a description as long as most are." for number in range(200))


def install(site: Path, count: int) -> None:
    """Write the metadata of ``count`` distributions."""
    for number in range(count):
        home = site / f"mlxp_fake{number}-1.0.dist-info"
        home.mkdir()
        requires = "".join(f"Requires-Dist: dependency{each}>=1.0\n" for each in range(8))
        (home / "METADATA").write_text(
            f"Metadata-Version: 2.4\nName: mlxp-fake{number}\nVersion: 1.0\n"
            f"{requires}Requires-Dist: mlxp-core>=0.1,<0.2\n\n{DESCRIPTION}\n"
        )
        (home / "entry_points.txt").write_text(f"[mlxp]\nfake{number} = mlxp_fake{number}.plugin\n")
        (home / "RECORD").write_text("")


def measured(site: Path, runs: int) -> list[float]:
    """Return milliseconds of each run; the first reads the disk."""
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        discover([str(site)])
        times.append((time.perf_counter() - start) * 1000)
    return times


def main() -> None:
    """Measure and print."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--distributions", type=int, default=100)
    arguments.add_argument("--runs", type=int, default=30)
    chosen = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        install(Path(folder), chosen.distributions)
        times = measured(Path(folder), chosen.runs)
    result = {
        "distributions": chosen.distributions,
        "runs": chosen.runs,
        "first_ms": round(times[0], 2),
        "median_ms": round(statistics.median(times), 2),
        "best_ms": round(min(times), 2),
        "worst_ms": round(max(times), 2),
        "python": platform.python_version(),
    }
    sys.stdout.write(json.dumps(result) + "\n")


if __name__ == "__main__":
    main()
