"""Tokens per second of the gated delta rule: token by token, and in chunks of several sizes; mlx-lm's beside them.

    python benchmarks/bench_delta.py [--tokens 2048] [--rows 1] [--key-heads 4] [--heads 8] [--chunks 16 32 64 128]

Heads are as wide as Qwen 3.5's (128); the 4B model has 16 key heads and 32 value heads in each of 24 layers. `cpu` is
the processor time of all threads, which says more than the clock where others are at work on the machine.
"""

import argparse
import time
from collections.abc import Callable
from functools import partial

import mlx.core as mx

from mlxp_qwen35.delta import chunk_by_chunk, token_by_token, usual_chunk

DIM = 128

Run = Callable[[], tuple[mx.array, mx.array]]


def drawn(rows: int, tokens: int, key_heads: int, heads: int) -> list[mx.array]:
    """Return the arguments of the rule: unit keys and queries, decays between almost none and strong."""
    keys = iter(mx.random.split(mx.random.key(0), 6))
    q, k = (mx.random.normal((rows, tokens, key_heads, DIM), key=next(keys)) for _ in range(2))
    q, k = (part / mx.linalg.norm(part, axis=-1, keepdims=True) for part in (q, k))
    v = mx.random.normal((rows, tokens, heads, DIM), key=next(keys))
    g = -mx.exp(mx.random.normal((rows, tokens, heads), key=next(keys)) - 2)
    b = mx.sigmoid(mx.random.normal((rows, tokens, heads), key=next(keys)))
    state = mx.random.normal((rows, heads, DIM, DIM), key=next(keys))
    arguments = [q * DIM**-0.5, k, v, g, b, state]
    mx.eval(arguments)
    return arguments


def theirs(q: mx.array, k: mx.array, v: mx.array, g: mx.array, b: mx.array, state: mx.array) -> Run | None:
    """Return mlx-lm's rule without a kernel, which is what it runs outside Metal, or ``None`` where it is absent."""
    try:
        from mlx_lm.models.gated_delta import gated_delta_ops  # noqa: PLC0415  # may be absent
    except ImportError:
        return None

    def run() -> tuple[mx.array, mx.array]:
        out, after = gated_delta_ops(q, k, v, mx.exp(g), b, state)
        return out, after

    return run


def measure(run: Run, repeat: int = 3) -> tuple[float, float]:
    """Return seconds and processor seconds: the best of some runs."""
    mx.eval(run())
    best = (float("inf"), float("inf"))
    for _ in range(repeat):
        wall, cpu = time.perf_counter(), time.process_time()
        mx.eval(run())
        spent = time.perf_counter() - wall, time.process_time() - cpu
        best = min(best[0], spent[0]), min(best[1], spent[1])
    return best


def main() -> None:
    """Print one line per form."""
    flags = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("--tokens", type=int, default=2048)
    flags.add_argument("--rows", type=int, default=1)
    flags.add_argument("--key-heads", type=int, default=4)
    flags.add_argument("--heads", type=int, default=8)
    flags.add_argument("--chunks", type=int, nargs="+", default=[8, 16, 32, 64, 128])
    chosen = flags.parse_args()
    arguments = drawn(chosen.rows, chosen.tokens, chosen.key_heads, chosen.heads)
    runs: dict[str, Run | None] = {
        "mlx-lm": theirs(*arguments),
        "token by token": partial(token_by_token, *arguments),
    }
    for size in chosen.chunks:
        mark = "*" if size == usual_chunk() else ""
        runs[f"chunks of {size}{mark}"] = partial(chunk_by_chunk, *arguments, chunk=size)
    total = chosen.rows * chosen.tokens
    print(
        f"{mx.default_device()}, {chosen.rows} x {chosen.tokens} tokens, {chosen.heads} heads; * = what is used"
    )
    for name, run in runs.items():
        if run is not None:
            wall, cpu = measure(run)
            print(f"{name:16} {total / wall:9.0f} tokens/s   cpu {1e6 * cpu / total:7.1f} us a token")


if __name__ == "__main__":
    main()
