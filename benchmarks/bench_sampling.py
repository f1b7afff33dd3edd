"""Milliseconds per draw, by vocabulary, rows and settings: ``python benchmarks/bench_sampling.py``."""

import statistics
import time

import mlx.core as mx

from mlxp_core.sampling.sampler import Sampler
from mlxp_core.types import Sampling

SETTINGS = {
    "greedy": Sampling(temperature=0.0),
    "greedy, scores": Sampling(temperature=0.0),
    "top_k 64, top_p .95": Sampling(temperature=1.0, top_k=64, top_p=0.95, seed=1),
    "top_k 20, top_p .95, temperature .6": Sampling(temperature=0.6, top_k=20, top_p=0.95, seed=1),
    "top_p .95": Sampling(temperature=1.0, top_p=0.95, seed=1),
    "temperature 1": Sampling(temperature=1.0, seed=1),
    "temperature 1, all penalties": Sampling(
        temperature=1.0, seed=1, repetition_penalty=1.1, presence_penalty=0.5, frequency_penalty=0.5
    ),
}


def batch(name: str, rows: int, vocabulary: int) -> Sampler:
    """Return the state of ``rows`` rows that all want the same."""
    scores = 5 if "scores" in name else None
    made = [
        Sampler.start(SETTINGS[name], [1, 2, 3], vocabulary=vocabulary, top_scores=scores, stages={})
        for _ in range(rows)
    ]
    for other in made[1:]:
        made[0].join(other)
    return made[0]


def measure(sampler: Sampler, logits: mx.array, repeats: int) -> float:
    """Return the median milliseconds of a draw."""
    mx.eval(sampler.draw(logits).arrays)
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        mx.eval(sampler.draw(logits).arrays)
        times.append(time.perf_counter() - start)
    return 1e3 * statistics.median(times)


def main() -> None:
    """Print one line for each setting."""
    shapes = [(vocabulary, rows) for vocabulary in (151_936, 262_144) for rows in (1, 8)]
    print(f"{mx.default_device()}; ms per draw of the whole batch (median)")
    print(f"{'':38}" + "".join(f"{vocabulary // 1000}k x {rows}".rjust(11) for vocabulary, rows in shapes))
    for name in SETTINGS:
        line = []
        for vocabulary, rows in shapes:
            logits = 3 * mx.random.normal((rows, vocabulary), key=mx.random.key(0))
            mx.eval(logits)
            line.append(measure(batch(name, rows, vocabulary), logits, repeats=9))
        print(f"{name:38}" + "".join(f"{ms:11.2f}" for ms in line))


if __name__ == "__main__":
    main()
