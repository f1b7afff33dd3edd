"""What one delta costs on its way to the socket: time per ``ChunkEncoder.feed``, and per decoded request body."""

import json
import statistics
import time

from mlxp_core.types import CallDelta, CallStarted, Event, Started, TextDelta, ThinkingDelta, WireRequest
from mlxp_protocols.openai_chat.plugin import mlxp_protocols

ROUNDS = 7
EVENTS = 20_000
DECODE = mlxp_protocols()[0].endpoints[0].decode


def body(turns: int) -> bytes:
    """Return a conversation of that many turns with a tool on offer."""
    words = {"role": "user", "content": "word " * 100}
    tool = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
    return json.dumps({"messages": [words] * turns, "tools": [tool] * 20, "stream": True}).encode()


def feed_us(events: list[Event]) -> float:
    """Return microseconds per event: the median of some rounds."""
    rounds = []
    for _ in range(ROUNDS):
        encoder = DECODE(WireRequest(body=body(1))).encoder
        encoder.feed(Started("r", "m"))
        encoder.feed(CallStarted(0, "call_0", "f"))
        begin = time.perf_counter()
        for event in events:
            encoder.feed(event)
        rounds.append((time.perf_counter() - begin) / len(events) * 1e6)
    return statistics.median(rounds)


def decode_us(turns: int) -> float:
    """Return microseconds to decode a conversation: the median of some rounds."""
    request = WireRequest(body=body(turns))
    rounds = []
    for _ in range(50):
        begin = time.perf_counter()
        DECODE(request)
        rounds.append((time.perf_counter() - begin) * 1e6)
    return statistics.median(rounds)


if __name__ == "__main__":
    for name, event in (
        ("text", TextDelta(" word")),
        ("thinking", ThinkingDelta(" word")),
        ("call fragment", CallDelta(0, '": "x')),
    ):
        print(f"{name:>16}: {feed_us([event] * EVENTS):6.2f} us per delta")
    for turns in (1, 20, 200):
        print(f"{turns:>4} turns of 500 B: {decode_us(turns):8.1f} us per request")
