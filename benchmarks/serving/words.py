"""Prompts: the same for every server, new where they should be, out of words that are one token each."""

import json
import random
from collections.abc import Sequence
from pathlib import Path

from benchmarks.serving.checkpoints.vocabulary import WORDS

PLAIN = (
    "river stone cloud table green letter window garden silver number market winter paper simple bridge candle "
    "forest signal copper memory travel orange harbor planet circle animal doctor engine island season shadow"
)
"""For models that are not the benchmark's own."""


class Words:
    """Draws texts."""

    def __init__(self, model: Path, seed: str) -> None:
        """Take the model's own words, if it has a list of them."""
        known = model / WORDS
        self._words: Sequence[str] = json.loads(known.read_text()) if known.is_file() else PLAIN.split()
        self._seed = seed

    def text(self, name: str, count: int) -> str:
        """Return so many words; the same name gives the same ones."""
        draw = random.Random(f"{self._seed}/{name}")
        return " ".join(draw.choice(self._words) for _ in range(count))

    def question(self, name: str, count: int) -> list[dict[str, str]]:
        """Return a conversation of one message."""
        return [{"role": "user", "content": self.text(name, count)}]

    def task(self, name: str, count: int, question: str) -> list[dict[str, str]]:
        """Return a conversation with long instructions and a short question."""
        system = {"role": "system", "content": self.text(name, count)}
        return [system, {"role": "user", "content": self.text(f"question {question}", 8)}]
