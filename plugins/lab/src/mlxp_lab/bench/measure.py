"""One answer, read and written as the engine does for one: chunks of the prompt, then a step ahead of what is read."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import mlx.core as mx
from msgspec import Struct

from mlxp_core.contracts import KVPolicy, LanguageModel
from mlxp_core.kv import BatchCache, forward


class Run(Struct, frozen=True):
    """Seconds that reading the prompt and writing the answer took."""

    prefill_s: float
    decode_s: float


def timed(
    model: LanguageModel,
    policy: KVPolicy,
    prompt: Sequence[int],
    *,
    tokens: int,
    chunk: int,
    clock: Callable[[], float] = time.perf_counter,
) -> Run:
    """Read a prompt and write ``tokens`` more, the likeliest each time; nothing ends the answer.

    Args:
        model: the network.
        policy: for its caches.
        prompt: token ids.
        tokens: to write after the first, which belongs to the reading.
        chunk: tokens of the prompt read at once.
        clock: seconds that only grow.
    """
    cache = BatchCache(model.make_caches(policy))
    began_s = clock()
    for start in range(0, len(prompt), chunk):
        hidden = forward(model, cache, mx.array([list(prompt[start : start + chunk])], dtype=mx.int32))
        mx.eval(hidden)
    token = _likeliest(model, hidden)
    mx.eval(token)
    read_s = clock()
    for _ in range(tokens):
        following = _likeliest(model, forward(model, cache, token))
        mx.async_eval(following)
        token.tolist()  # the one before, as an answer is sent
        token = following
    mx.eval(token)
    return Run(read_s - began_s, clock() - read_s)


def _likeliest(model: LanguageModel, hidden: mx.array) -> mx.array:
    """Return the likeliest token after the last one: ``[1, 1]``."""
    logits = model.logits(hidden[:, -1:])
    return mx.argmax(logits, axis=-1).astype(mx.int32)
