"""Time of one greedy decode step of a small llama, ours beside mlx-lm's on the same weights.

    python benchmarks/bench_decode_step.py [--rows 1 8] [--steps 100] [--context 128] [--dtype float32]

`step` is the whole of it, from one token to the next, each step waited for. `host` is the part spent building the
graph, before anything is evaluated; a runner that works one step ahead hides the smaller of the two behind the other.
`ragged` rows have different lengths; mlx-lm's plain cache has no such thing, so there is nothing beside it.
"""

import argparse
import statistics
import time
from collections.abc import Callable, Mapping, Sequence

import mlx.core as mx

from mlxp_core.kv import BatchCache, PlainPolicy, forward
from mlxp_core.testing.networks import load, random_parameters
from mlxp_minicpm5.config import read
from mlxp_minicpm5.text import MiniCPM5

CONFIG = {
    "model_type": "llama",
    "vocab_size": 4096,
    "hidden_size": 256,
    "intermediate_size": 768,
    "num_hidden_layers": 8,
    "num_attention_heads": 8,
    "num_key_value_heads": 2,
    "head_dim": 32,
    "rms_norm_eps": 1e-6,
    "rope_theta": 1e6,
    "tie_word_embeddings": False,
}


Step = Callable[[mx.array], mx.array]


def ours(weights: Mapping[str, mx.array], lengths: Sequence[int], dtype: mx.Dtype) -> Step:
    """Return a function of tokens ``[rows, 1]`` that builds one step: the next tokens, not evaluated."""
    network = MiniCPM5(read(CONFIG))
    load(network, weights)
    rows = [BatchCache(network.make_caches(PlainPolicy(dtype))) for _ in lengths]
    for row, length in zip(rows, lengths, strict=True):
        mx.eval(forward(network, row, mx.ones((1, length), dtype=mx.int32)))
    cache = rows[0]
    for row in rows[1:]:
        cache.join(row)

    def step(tokens: mx.array) -> mx.array:
        return mx.argmax(network.logits(forward(network, cache, tokens)), axis=-1)

    return step


def theirs(weights: Mapping[str, mx.array], lengths: Sequence[int]) -> Step | None:
    """Return the same of mlx-lm, or ``None`` where it cannot: no mlx-lm, or rows of different lengths."""
    try:
        from mlx_lm.models.cache import make_prompt_cache  # noqa: PLC0415  # may be absent
        from mlx_lm.models.llama import Model, ModelArgs  # noqa: PLC0415  # as above
    except ImportError:
        return None
    if len(set(lengths)) > 1:
        return None
    model = Model(ModelArgs.from_dict(CONFIG))
    model.load_weights(list(weights.items()))
    cache = make_prompt_cache(model)
    mx.eval(model(mx.ones((len(lengths), lengths[0]), dtype=mx.int32), cache=cache))

    def step(tokens: mx.array) -> mx.array:
        return mx.argmax(model(tokens, cache=cache), axis=-1)

    return step


def measure(step: Step, rows: int, steps: int) -> tuple[float, float]:
    """Return milliseconds of a step and of its host part: medians."""
    tokens, whole, host = mx.ones((rows, 1), dtype=mx.int32), [], []
    for index in range(steps + 10):
        begin = time.perf_counter()
        tokens = step(tokens)
        built = time.perf_counter()
        mx.eval(tokens)
        if index >= 10:  # noqa: PLR2004  # the first ones warm up
            host.append(built - begin)
            whole.append(time.perf_counter() - begin)
    return statistics.median(whole) * 1e3, statistics.median(host) * 1e3


def main() -> None:
    """Print one line per case."""
    flags = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("--rows", type=int, nargs="+", default=[1, 8])
    flags.add_argument("--steps", type=int, default=100)
    flags.add_argument("--context", type=int, default=128)
    flags.add_argument("--dtype", choices=["float32", "bfloat16", "float16"], default="float32")
    chosen = flags.parse_args()
    dtype = getattr(mx, chosen.dtype)
    network = MiniCPM5(read(CONFIG))
    weights = {name: value.astype(dtype) for name, value in random_parameters(network, 0).items()}
    cases = [("level", [chosen.context] * rows) for rows in chosen.rows]
    cases += [
        ("ragged", [chosen.context + 7 * row for row in range(rows)]) for rows in chosen.rows if rows > 1
    ]
    print(f"{mx.default_device()}, {chosen.dtype}, context {chosen.context}; ms per step (host part)")
    for kind, lengths in cases:
        line = f"{len(lengths):2} rows, {kind:6}"
        for name, step in (("mlxp", ours(weights, lengths, dtype)), ("mlx-lm", theirs(weights, lengths))):
            if step is not None:
                whole, host = measure(step, len(lengths), chosen.steps)
                line += f"   {name} {whole:6.2f} ({host:.2f})"
        print(line)


if __name__ == "__main__":
    main()
