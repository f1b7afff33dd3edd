"""How much of everything is measured."""

from typing import Literal

from msgspec import Struct

Measure = Literal["short", "decode", "long", "together", "agent", "cut", "arrivals", "contexts", "rows"]


class Preset(Struct, frozen=True, kw_only=True):
    """Sizes of a run; words are tokens where the checkpoint is the benchmark's own.

    Attributes:
        short, long: words of a question, and of instructions.
        answer: tokens of an answer whose speed is measured.
        repeats: of single requests.
        streams: answers at the same time.
        together: tokens of each of them.
        turns, system, user, reply: of a conversation.
        arrivals: how many requests come in an open loop.
        rates: of them a second, on average; the same for all servers.
        contexts: words that an answer stands behind.
        patience_s: for one answer.
        measures: what is measured.
    """

    short: int = 12
    long: int = 128
    answer: int = 48
    repeats: int = 3
    streams: tuple[int, ...] = (1, 2, 4, 8, 16)
    together: int = 16
    turns: int = 10
    system: int = 64
    user: int = 12
    reply: int = 8
    arrivals: int = 24
    rates: tuple[float, ...] = (0.5, 1, 2, 4, 8)
    contexts: tuple[int, ...] = (1024, 2048, 4096)
    patience_s: float = 300
    measures: tuple[Measure, ...] = ("short", "decode", "long", "together", "agent", "cut", "arrivals")


PRESETS = {
    "smoke": Preset(
        short=6,
        long=32,
        answer=12,
        repeats=1,
        streams=(1, 2),
        together=6,
        turns=2,
        system=16,
        user=6,
        reply=4,
        arrivals=4,
        rates=(8,),
        contexts=(64,),
        patience_s=60,
        measures=("short", "decode", "long", "together", "agent", "cut", "arrivals", "contexts", "rows"),
    ),
    "nano": Preset(
        short=16,
        long=512,
        answer=128,
        repeats=5,
        together=32,
        system=200,
        user=40,
        reply=16,
        arrivals=100,
        rates=(10, 20, 40, 80),
    ),
    "mid": Preset(),
    "agent": Preset(system=2000, user=1780, reply=20, measures=("agent",)),
    "curves": Preset(
        repeats=2,
        answer=24,
        streams=(1, 2, 4, 8, 16, 32),
        contexts=(1024, 4096, 8192, 16384, 32000),
        patience_s=1800,
        measures=("contexts", "rows"),
    ),
    "gpu": Preset(
        short=32,
        long=2048,
        answer=256,
        repeats=5,
        together=128,
        system=1500,
        user=200,
        reply=64,
        arrivals=120,
        contexts=(1024, 4096, 16384, 32000),
        measures=("short", "decode", "long", "together", "agent", "cut", "arrivals", "contexts"),
    ),
}
"""What each is for:

smoke: whether all of it works.
nano: with a nano checkpoint, what a server takes beside the model.
mid: a processor.
agent: ten turns to 20,000 tokens.
curves: how cost grows with context and rows.
gpu: a real model.
"""
