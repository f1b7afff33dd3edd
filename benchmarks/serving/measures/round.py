"""One server in one round: whom to ask, with which words, and the samples so far."""

from collections import defaultdict
from collections.abc import Iterable

from benchmarks.serving.client import Client
from benchmarks.serving.machine import Use
from benchmarks.serving.presets import Preset
from benchmarks.serving.reply import Reply
from benchmarks.serving.words import Words


class Round:
    """One server in one round.

    Attributes:
        samples: by name; seconds where a name ends in ``_s``.
    """

    def __init__(self, client: Client, words: Words, preset: Preset, use: Use) -> None:
        """Begin without samples."""
        self.client, self.words, self.preset, self.use = client, words, preset, use
        self.samples: defaultdict[str, list[float]] = defaultdict(list)

    def add(self, name: str, *values: float | None) -> None:
        """Note samples; ``None`` is none."""
        self.samples[name] += [value for value in values if value is not None]


def speed(reply: Reply) -> float | None:
    """Return tokens a second behind the first piece of an answer; ``None`` = it came at once."""
    span = reply.times[-1] - reply.times[0]
    first = reply.tokens / len(reply.times)
    return (reply.tokens - first) / span if span > 0 else None


def quantile(values: Iterable[float], part: float) -> float | None:
    """Return the value that ``part`` of the values lie below, between two in proportion; ``None`` of none."""
    ranked = sorted(values)
    if not ranked:
        return None
    place = part * (len(ranked) - 1)
    below = int(place)
    above = min(below + 1, len(ranked) - 1)
    return ranked[below] + (ranked[above] - ranked[below]) * (place - below)
