"""Time of attending to quantized keys and values, by each way, beside plain ones.

    python benchmarks/bench_kv_attention.py [--keys 4096] [--bits 4] [--head 128] [--kv-heads 2]

`direct` multiplies with the packed arrays; `unpacked` unpacks them first; `plain` has nothing to unpack. The line
between the two ways is drawn in `mlxp_core/kv/quantized.py`, by how many queries share a key: query heads to a key
head, times tokens of the pass.
"""

import argparse
import statistics
import time

import mlx.core as mx

from mlxp_core.kv.quantized import QuantizedStore
from mlxp_core.kv.store import PlainStore, Planes, Store
from mlxp_core.types import KVStorage

SHARED = (1, 2, 4, 8, 16, 128)
REPEATS = 15


def milliseconds(store: Store, q: mx.array, held: Planes) -> float:
    """Return the median of some runs after one that does not count."""
    taken = []
    for _ in range(REPEATS + 1):
        began = time.perf_counter()
        mx.eval(store.attend(q, held, scale=0.1, mask=None))
        taken.append((time.perf_counter() - began) * 1000)
    return statistics.median(taken[1:])


def main() -> None:
    """Print a line for each number of queries that share a key."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--keys", type=int, default=4096)
    parser.add_argument("--bits", type=int, default=4)
    parser.add_argument("--head", type=int, default=128)
    parser.add_argument("--kv-heads", type=int, default=2)
    given = parser.parse_args()
    storage, dtype = KVStorage(given.bits, 64), mx.float32
    k, v = (mx.random.normal((1, given.kv_heads, given.keys, given.head)).astype(dtype) for _ in range(2))
    stores: dict[str, Store] = {
        "direct": QuantizedStore(storage, dtype, direct=10**9),
        "unpacked": QuantizedStore(storage, dtype, direct=0),
        "plain": PlainStore(dtype),
    }
    held = {name: store.pack(k, v) for name, store in stores.items()}
    mx.eval(list(held.values()))
    print("queries that share a key | " + " | ".join(f"{name} ms" for name in stores))
    for shared in SHARED:
        q = mx.random.normal((1, given.kv_heads * shared, 1, given.head)).astype(dtype)
        mx.eval(q)
        times = [milliseconds(store, q, held[name]) for name, store in stores.items()]
        print(f"{shared:24} | " + " | ".join(f"{each:.2f}" for each in times), flush=True)


if __name__ == "__main__":
    main()
