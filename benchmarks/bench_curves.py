"""Milliseconds of processor time per draw with a curve or HLG: ``python benchmarks/bench_curves.py``."""

import statistics
import time

import mlx.core as mx
import msgspec
from msgspec import Raw, Struct

from mlxp_core.sampling.sampler import Sampler
from mlxp_core.types import Sampling
from mlxp_curves.curve import Curve, Point
from mlxp_curves.hlg import Hlg
from mlxp_curves.plugin import CURVE, HLG

STAGES = {stage.name: stage for stage in (CURVE, HLG)}
SHAPES = [(vocabulary, rows) for vocabulary in (151_936, 262_144) for rows in (1, 8)]


def curve(points: int) -> Curve:
    """Return a curve of so many points, a little flatter than the diagonal."""
    percentages = [100 * 10 ** (-6 * step / (points - 1)) for step in range(points)]
    return Curve(tuple(Point(pct, 100 * (pct / 100) ** 0.9) for pct in percentages))


ASKED: dict[str, dict[str, Struct]] = {
    "temperature 1": {},
    "curve of 5 points": {"curve": curve(5)},
    "curve of 64 points": {"curve": curve(64)},
    "hlg": {"hlg": Hlg()},
    "hlg, median": {"hlg": Hlg(pivot="median")},
    "hlg, shaper": {"hlg": Hlg(mode="shaper")},
}


def batch(stages: dict[str, Struct], rows: int, vocabulary: int) -> Sampler:
    """Return the state of ``rows`` rows that all want the same."""
    raw = {name: Raw(msgspec.json.encode(settings)) for name, settings in stages.items()}
    sampling = Sampling(temperature=1.0, seed=1, stages=raw)
    made = [
        Sampler.start(sampling, [1], vocabulary=vocabulary, top_scores=None, stages=STAGES)
        for _ in range(rows)
    ]
    for other in made[1:]:
        made[0].join(other)
    return made[0]


def measure(sampler: Sampler, logits: mx.array, repeats: int) -> float:
    """Return the median milliseconds of processor time, all threads together, that a draw takes."""
    mx.eval(sampler.draw(logits).arrays)
    times = []
    for _ in range(repeats):
        start = time.process_time()
        mx.eval(sampler.draw(logits).arrays)
        times.append(time.process_time() - start)
    return 1e3 * statistics.median(times)


def main() -> None:
    """Print one line for each stage."""
    print(f"{mx.default_device()}; ms of processor time per draw of the whole batch (median)")
    print(f"{'':22}" + "".join(f"{vocabulary // 1000}k x {rows}".rjust(11) for vocabulary, rows in SHAPES))
    for name, stages in ASKED.items():
        line = []
        for vocabulary, rows in SHAPES:
            logits = 3 * mx.random.normal((rows, vocabulary), key=mx.random.key(0))
            mx.eval(logits)
            line.append(measure(batch(stages, rows, vocabulary), logits, repeats=9))
        print(f"{name:22}" + "".join(f"{ms:11.2f}" for ms in line))


if __name__ == "__main__":
    main()
