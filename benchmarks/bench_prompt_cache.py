"""What the prompt cache costs: looking a long prompt up, keeping a checkpoint, and putting a row together again.

python benchmarks/bench_prompt_cache.py [--tokens 16384] [--turns 20] [--conversations 10]
"""

import argparse
import random
import time
from collections.abc import Callable
from statistics import median

import mlx.core as mx

from mlxp_core.kv import BatchCache, PlainPolicy, RowSnapshot
from mlxp_core.promptcache import Namespace, Store
from mlxp_core.promptcache.pieces import Held, snapshots_of, take

HERE = Namespace("weights", "float16")
LAYERS, HEADS, DIM = 8, 2, 128


def main() -> None:
    """Print the numbers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tokens", type=int, default=16384)
    parser.add_argument("--turns", type=int, default=20)
    parser.add_argument("--conversations", type=int, default=10)
    chosen = parser.parse_args()
    store: Store[Held] = Store(2**40)
    dice = random.Random(1)  # a benchmark, not a secret
    step = chosen.tokens // chosen.turns
    kept: list[float] = []
    for _ in range(chosen.conversations):
        key: tuple[int, ...] = tuple(range(500))  # instructions that all share
        row = empty()
        write(row, len(key))
        for _ in range(chosen.turns):
            more = tuple(dice.randrange(100_000) for _ in range(step))
            write(row, len(more))
            key += more
            kept.append(seconds(lambda key=key, row=row: keep(store, key, row)))  # type: ignore[misc]
    prompt = (*key, *range(100))
    found = store.find(HERE, prompt, len(prompt) - 1)
    assert found.value is not None
    held = found.value
    looked = [seconds(lambda: store.find(HERE, prompt, len(prompt) - 1)) for _ in range(50)]
    thawed = [seconds(lambda: mx.eval(arrays(held))) for _ in range(10)]
    print(f"{len(store)} checkpoints, {store.nbytes / 2**20:.0f} MiB; one row is {held.length} tokens")
    print(f"looking up: {median(looked) * 1e6:.0f} µs (median), {max(looked) * 1e6:.0f} µs (most)")
    print(f"keeping {step} new tokens: {median(kept) * 1e3:.2f} ms (median), copy included")
    print(f"putting the row together: {median(thawed) * 1e3:.1f} ms (median)")


def empty() -> BatchCache:
    """Return an empty row of full layers."""
    policy = PlainPolicy(mx.float16)
    return BatchCache([policy.full(layer) for layer in range(LAYERS)])


def write(row: BatchCache, count: int) -> None:
    """Store so many tokens, without attending to them."""
    at = row.begin([count], count)
    new = mx.zeros((1, HEADS, count, DIM), dtype=mx.float16)
    for layer in row.layers:
        layer.attend(new[:, :, :1], new, new, at, scale=1.0)  # type: ignore[attr-defined]
    row.commit(at)
    last = row.freeze(0, [row.lengths[0] - 1] * LAYERS)
    mx.eval([layer.arrays for layer in last.layers])  # so that what is kept later has been computed


def keep(store: Store[Held], key: tuple[int, ...], row: BatchCache) -> None:
    """Keep a checkpoint of a row, and wait until it is there."""
    made = take(lambda starts: row.freeze(0, starts).layers, len(key), len(key), store.relatives(HERE, key))
    mx.eval([piece.layers for piece in made.parts])
    store.put(HERE, key, made)


def arrays(held: Held) -> list[mx.array]:
    """Return the arrays of a row that goes on from a checkpoint, not yet computed."""
    snapshots = snapshots_of(held, held.length)
    row = empty().thaw(RowSnapshot(snapshots, held.length, held.length))
    assert row.lengths == [held.length]
    return [array for snapshot in snapshots for array in snapshot.arrays]


def seconds(work: Callable[[], object]) -> float:
    """Return how long something takes."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
