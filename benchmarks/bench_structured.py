"""What a shape costs: tables of a tokenizer, compiling, masks token by token, and a batch half of whose rows have one.

    python benchmarks/bench_structured.py [TOKENIZER.json ...] [--rows 16] [--steps 150]

Masks are measured along the way of answers drawn at random, without a network; what a constraint is told after each
token counts too. Without tokenizers, that of the project's own random model is taken. The batch is a random network
behind a real server; all rows step together. Masks and compiling are told in processor time of their thread, so that
other work on the machine does not count.
"""

import argparse
import json
import random
import statistics
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx
from msgspec import Raw

from mlxp_core.contracts import Constraint, ConstraintKind
from mlxp_core.loading.sketch import sketch_config, write_sketch
from mlxp_core.loading.sketch_tokenizer import sketch_tokenizer
from mlxp_core.prompting import Tokenizer
from mlxp_structured.plugin import mlxp_constraints

PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "born": {"type": "string", "format": "date"},
        "height": {"type": "number", "minimum": 0.3, "maximum": 2.8},
        "tags": {"type": "array", "items": {"enum": ["a", "b", "c"]}, "maxItems": 5},
        "home": {
            "type": "object",
            "properties": {"street": {"type": "string"}, "zip": {"type": "string", "pattern": "^[0-9]{5}$"}},
            "required": ["street", "zip"],
        },
    },
    "required": ["name", "born", "height", "tags", "home"],
}
SHAPES = {
    "a JSON schema of seven fields": ("json_schema", PERSON),
    "any JSON object": ("json_object", None),
    "a regular expression": ("regex", {"regex": r"(\w+ ){3,20}\d{4}-\d{2}\."}),
    "any text but one word": ("pieces", {"start": {"type": "words", "without": ["<tool_call>"]}}),
}
ANSWERS, TOKENS = 8, 150
ENDLESS = {"type": "array", "items": {"type": "string", "minLength": 5}, "minItems": 1000}
NEVER_END = {"1": -100, "25": -100}
WIDE = {"hidden_size": 256, "intermediate_size": 768, "num_hidden_layers": 4, "num_attention_heads": 8}


def main() -> None:
    """Measure and print."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("tokenizers", nargs="*", type=Path)
    arguments.add_argument("--rows", type=int, default=16)
    arguments.add_argument("--steps", type=int, default=150)
    asked = arguments.parse_args()
    kinds = {kind.name: kind for kind in mlxp_constraints()}
    for name, text in _tokenizers(asked.tokenizers):
        _measure_masks(name, Tokenizer(text, end_tokens=frozenset({1, 2})), kinds)
    _measure_batch(asked.rows, asked.steps)


def _tokenizers(paths: Sequence[Path]) -> Iterator[tuple[str, bytes]]:
    if not paths:
        yield "sketch", json.dumps(sketch_tokenizer()).encode()
    for path in paths:
        yield path.parent.name, path.read_bytes()


def _measure_masks(name: str, tokenizer: Tokenizer, kinds: dict[str, ConstraintKind]) -> None:
    began = time.thread_time()
    kinds["json_object"].compile(None, tokenizer)
    print(f"\n{name}: {tokenizer.size} tokens; tables {time.thread_time() - began:.1f} s, once")
    print("| shape | compile, ms | mask p50, µs | p99, µs | most, ms |\n|---|---|---|---|---|")
    for shape, (kind, body) in SHAPES.items():
        given = None if body is None else Raw(json.dumps(body).encode())
        began = time.thread_time()
        rules = [kinds[kind].compile(given, tokenizer) for _ in range(ANSWERS)]
        compiled = (time.thread_time() - began) / ANSWERS
        taken = sorted(spent for seed, rule in enumerate(rules) for spent in _walk(rule, tokenizer, seed))
        middle, high = statistics.median(taken), taken[int(len(taken) * 0.99)]
        cells = f"{compiled * 1e3:.1f} | {middle * 1e6:.0f} | {high * 1e6:.0f} | {taken[-1] * 1e3:.1f}"
        print(f"| {shape} | {cells} |")


def _walk(rule: Constraint, tokenizer: Tokenizer, seed: int) -> Iterator[float]:
    """Yield the seconds of each token: of its mask, and of telling that it was drawn."""
    draw = random.Random(seed)
    for _ in range(TOKENS):
        began = time.thread_time()
        mask = rule.allowed()
        spent = time.thread_time() - began
        token = _drawn(mask, draw)
        if token in tokenizer.end_tokens:
            return
        began = time.thread_time()
        rule.advance(token)
        yield spent + time.thread_time() - began


def _drawn(mask: bytes, draw: random.Random) -> int:
    """Return a token that the mask allows; a byte of the mask is drawn first."""
    byte = draw.choice([place for place, bits in enumerate(mask) if bits])
    return 8 * byte + draw.choice([bit for bit in range(8) if mask[byte] >> bit & 1])


def _measure_batch(rows: int, steps: int) -> None:
    """Ask a server for texts of one length, none, half or all of them held to arrays of text that never end."""
    from mlxp_core.testing.live import serve_folders  # noqa: PLC0415  # arrays only now

    flags = {"engine": {"batch": rows, "dtype": "float32", "prompt_cache_bytes": 0}}
    print(f"\n{rows} rows, {steps} tokens each; {WIDE}")
    print("| rows with a schema | ms per step | processor ms per step |\n|---|---|---|")
    with TemporaryDirectory() as place:
        folder = write_sketch(Path(place) / "wide", config={**sketch_config(), **WIDE})
        with serve_folders(folder, flags=flags) as served, ThreadPoolExecutor(rows) as threads:

            def ask(held: bool) -> None:
                body = {"prompt": "a", "max_tokens": steps, "logit_bias": NEVER_END}
                shape = {"guided_json": ENDLESS} if held else {}
                httpx.post(
                    f"{served.url}/v1/completions", json={**body, **shape}, timeout=600
                ).raise_for_status()

            for every in (0, 0, 2, 1):  # the first is to warm up
                held = [bool(every) and row % every == 0 for row in range(rows)]
                began, worked = time.perf_counter(), time.process_time()
                list(threads.map(ask, held))
                spent, worked = time.perf_counter() - began, time.process_time() - worked
                print(f"| {sum(held)} | {spent / steps * 1e3:.1f} | {worked / steps * 1e3:.1f} |")


if __name__ == "__main__":
    main()
