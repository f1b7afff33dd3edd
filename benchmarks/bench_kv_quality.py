"""What quantized keys and values do to a model's predictions, text by text.

Every text is read in one pass, each token attending to the ones before it as they are stored, which is what decoding
would see. Against the same pass with plain keys and values: the mean Kullback-Leibler divergence of the next-token
distributions, how often the likeliest token is another one, and the perplexity.

    python benchmarks/bench_kv_quality.py MODEL [--plugin NAME:MODULE:FOLDER] [--dtype float32] [--texts code]
"""

import argparse
import importlib
import sys
from pathlib import Path

import mlx.core as mx
import numpy as np

from mlxp_core.contracts import LanguageModel
from mlxp_core.kv import BatchCache, forward, policy_for
from mlxp_core.loading import load_frontend, open_folder
from mlxp_core.loading.network import load_network
from mlxp_core.plugins import build_registry, load_plugins, load_settings
from mlxp_core.types import KVScheme, KVStorage, PluginSettings

PROSE = """The harbour had been built for ships that no longer came. In the mornings the old men walked out along the \
mole with their lines and their buckets, and sat down on the stones that were worn to their shape, and waited. They \
spoke little. When the ferry passed they lifted one hand, all together, as if a single thought had crossed all of \
them. A boy who had come with his grandfather counted the gulls on the lighthouse, lost the count, and began again. \
Behind them the town climbed the hill in steps of white and ochre, and above the last houses stood the pines. By noon \
the wind would turn and bring the smell of resin down to the water, and then it was time to go home and eat. Nobody \
had caught anything worth mentioning since the spring, but the spring had been good, and it was still spoken of. That \
year a fish had been landed that was longer than the boy was tall; every one of them had held the rod at some moment, \
and every one of them told it differently. In 1931 the railway had reached the next valley and stopped there, for want \
of money, and with it the century. What the town knew of the world it knew from the radio and from those who left it \
and came back, in summer, with children who could not swim."""

CODE = '''import heapq


def shortest_paths(graph, source):
    """Return the distance from source to every node of a weighted graph."""
    distances = {source: 0}
    queue = [(0, source)]
    while queue:
        distance, node = heapq.heappop(queue)
        if distance > distances[node]:
            continue
        for neighbour, weight in graph[node].items():
            candidate = distance + weight
            if candidate < distances.get(neighbour, float("inf")):
                distances[neighbour] = candidate
                heapq.heappush(queue, (candidate, neighbour))
    return distances


def test_shortest_paths():
    graph = {"a": {"b": 7, "c": 3}, "b": {"d": 2}, "c": {"b": 1, "d": 8}, "d": {}}
    assert shortest_paths(graph, "a") == {"a": 0, "b": 4, "c": 3, "d": 6}
    assert shortest_paths(graph, "d") == {"d": 0}
'''

CALLS = """You can call these functions:
[{"name": "get_weather", "parameters": {"city": {"type": "string"}, "days": {"type": "integer"}}},
 {"name": "send_mail", "parameters": {"to": {"type": "string"}, "subject": {"type": "string"}, "body": {"type": \
"string"}}},
 {"name": "create_event", "parameters": {"title": {"type": "string"}, "start": {"type": "string"}, "minutes": {"type": \
"integer"}}}]
User: What will the weather be in Lisbon for the next three days?
Call: {"name": "get_weather", "arguments": {"city": "Lisbon", "days": 3}}
Result: {"city": "Lisbon", "days": [{"high": 24, "rain": 0.1}, {"high": 22, "rain": 0.6}, {"high": 25, "rain": 0.0}]}
User: Put a walk of 90 minutes into my calendar for 2024-05-17 at 10:30.
Call: {"name": "create_event", "arguments": {"title": "Walk", "start": "2024-05-17T10:30", "minutes": 90}}
Result: {"id": "ev_81723", "title": "Walk", "start": "2024-05-17T10:30", "minutes": 90}
User: Tell ana@example.org about it.
Call: {"name": "send_mail", "arguments": {"to": "ana@example.org", "subject": "Walk", "body": "A walk of 90 minutes on \
2024-05-17 at 10:30."}}
Result: {"status": "sent", "id": "ml_55190"}
User: And how will the weather be in Porto for five days?
Call: {"name": "get_weather", "arguments": {"city": "Porto", "days": 5}}
"""

TEXTS = {"prose": PROSE, "code": CODE, "tool calls": CALLS}

SCHEMES = {
    f"{bits} bits, groups of {group}{f', {ends} plain at either end' if ends else ''}": KVScheme(
        uniform=KVStorage(bits, group), ends=ends
    )
    for bits, group, ends in [(8, 64, 0), (4, 64, 0), (4, 64, 1), (4, 64, 2), (4, 32, 0)]
}


def predictions(model: LanguageModel, scheme: KVScheme, dtype: mx.Dtype, tokens: list[int]) -> np.ndarray:
    """Return the log-probabilities after each token but the last: ``[tokens - 1, vocabulary]``."""
    policy, _ = policy_for(model, scheme, dtype)
    hidden = forward(model, BatchCache(model.make_caches(policy)), mx.array([tokens], dtype=mx.int32))
    logits = model.logits(hidden[0, :-1]).astype(mx.float32)
    return np.array(logits - mx.logsumexp(logits, axis=-1, keepdims=True))


def compare(plain: np.ndarray, other: np.ndarray, tokens: list[int]) -> str:
    """Return the three numbers as columns."""
    divergence = (np.exp(plain) * (plain - other)).sum(axis=-1).mean()
    changed = (plain.argmax(axis=-1) != other.argmax(axis=-1)).mean()
    return f"{divergence:.5f} | {changed:6.1%} | {perplexity(other, tokens):.2f}"


def perplexity(scores: np.ndarray, tokens: list[int]) -> float:
    """Return ``exp`` of the mean surprise at the tokens that did follow."""
    return float(np.exp(-scores[np.arange(len(tokens) - 1), tokens[1:]].mean()))


def main() -> None:
    """Load the model once, and print a line for each text and scheme."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", type=Path)
    parser.add_argument("--plugin", help="a plugin that is not installed, as NAME:MODULE:FOLDER")
    parser.add_argument("--dtype", default="float32", choices=["auto", "float32", "bfloat16", "float16"])
    parser.add_argument("--texts", nargs="+", default=list(TEXTS), choices=list(TEXTS))
    given = parser.parse_args()
    extra = []
    if given.plugin:
        name, module, folder = given.plugin.split(":")
        sys.path.insert(0, folder)
        extra.append((name, importlib.import_module(module)))
    loaded = load_plugins(PluginSettings(), extra=extra)
    settings = load_settings(None, {}, {}, loaded.sections, absent=loaded.absent)
    folder = open_folder(given.model)
    frontend = load_frontend(folder, build_registry(loaded, settings))
    network = load_network(folder, frontend.family, frontend.config, dtype=given.dtype)
    dtype = network.model.embed(mx.zeros((1, 1), dtype=mx.int32)).dtype
    print("text | tokens | scheme | divergence | likeliest changed | perplexity")
    for name in given.texts:
        tokens = list(frontend.tokenizer.encode(TEXTS[name], special=True))
        plain = predictions(network.model, KVScheme(), dtype, tokens)
        print(f"{name} | {len(tokens)} | plain | 0 | 0 | {perplexity(plain, tokens):.2f}")
        for label, scheme in SCHEMES.items():
            found = predictions(network.model, scheme, dtype, tokens)
            print(f"{name} | {len(tokens)} | {label} | {compare(plain, found, tokens)}", flush=True)


if __name__ == "__main__":
    main()
