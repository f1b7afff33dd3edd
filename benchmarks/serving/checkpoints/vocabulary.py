"""Made-up words, one token each with a space before them, and the order in which a benchmark's model says them."""

import random
from collections.abc import Mapping
from itertools import product
from typing import Any

CONSONANTS, VOWELS = "bcdfghjklmnpqrstvwxz", "aeiouy"
SYLLABLES = [first + second for first, second in product(CONSONANTS, VOWELS)]
OPENINGS = 32
"""Words without a space before them, which may begin an answer."""

WORDS = "bench_words.json"
"""The file of a checkpoint that lists its words."""

SPACE = "\u0120"
"""How byte-level tokenizers write a space."""

SPLIT = r"[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
"""What is never one token with its neighbours, as in the tokenizers of real models."""


class Vocabulary:
    """Tokens by number: control tokens where they are fixed, bytes, syllables, openings, words.

    Attributes:
        table: token -> its text, as a tokenizer.json writes it.
        openings, words: tokens that may be said.
        merges: how bytes become syllables, and syllables words.
    """

    def __init__(self, size: int, control: Mapping[int, str]) -> None:
        """Fill ``size`` tokens around those of ``control``."""
        self.size, self.control = size, dict(control)
        self.table: dict[int, str] = dict(control)
        self.openings: list[int] = []
        self.words: list[int] = []
        self._free = [token for token in range(size - 1, -1, -1) if token not in control]
        for letter in byte_letters():
            self._put(letter)
        for syllable in SYLLABLES:
            self._put(syllable)
        for syllable in SYLLABLES:
            self._put(SPACE + syllable)
        pairs = list(product(SYLLABLES, SYLLABLES))
        random.Random(0).shuffle(pairs)
        opening, spoken = pairs[:OPENINGS], pairs[OPENINGS:][: max(0, len(self._free) - OPENINGS)]
        self.openings = [self._put(first + second) for first, second in opening]
        self.words = [self._put(SPACE + first + second) for first, second in spoken]
        self.merges = [
            *([syllable[0], syllable[1]] for syllable in SYLLABLES),
            *([SPACE, syllable] for syllable in SYLLABLES),
            *([SPACE + first, second] for first, second in spoken),
            *([first, second] for first, second in opening),
        ]

    def _put(self, text: str) -> int:
        token = self._free.pop()
        self.table[token] = text
        return token

    def spelled(self) -> list[str]:
        """Return the words without their spaces."""
        return [self.table[token].removeprefix(SPACE) for token in self.words]

    def followers(self) -> list[int]:
        """Return for each token the one that is said after it: words are one long cycle, all others lead into it."""
        draw = random.Random(1)
        order = self.words.copy()
        draw.shuffle(order)
        after = dict(zip(order, [*order[1:], order[0]], strict=True))
        after |= {token: order[97 * place % len(order)] for place, token in enumerate(self.openings)}
        return [after.get(token) or self.openings[token % OPENINGS] for token in range(self.size)]

    def tokenizer(self, text_tokens: frozenset[str], begin: int | None) -> dict[str, Any]:
        """Return the tokenizer.json.

        Args:
            text_tokens: control tokens that are not special.
            begin: token in front of plain text; ``None`` = none is.
        """
        level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False}
        split = {"type": "Split", "pattern": {"Regex": SPLIT}, "behavior": "Isolated", "invert": False}
        return {
            "version": "1.0",
            "truncation": None,
            "padding": None,
            "added_tokens": [
                _added(token, text, special=text not in text_tokens)
                for token, text in sorted(self.control.items())
            ],
            "normalizer": None,
            "pre_tokenizer": {"type": "Sequence", "pretokenizers": [split, level]},
            "post_processor": level if begin is None else _begins(begin, self.control[begin]),
            "decoder": level,
            "model": {
                "type": "BPE",
                "dropout": None,
                "unk_token": None,
                "fuse_unk": False,
                "continuing_subword_prefix": "",
                "end_of_word_suffix": "",
                "byte_fallback": False,
                "ignore_merges": False,
                "vocab": {text: token for token, text in self.table.items()},
                "merges": self.merges,
            },
        }


def byte_letters() -> list[str]:
    """Return the letter that stands for each byte in byte-level tokenizers."""
    shown = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    spare = iter(range(0x100, 0x200))
    return [chr(byte) if byte in shown else chr(next(spare)) for byte in range(256)]


def _added(token: int, text: str, *, special: bool) -> dict[str, Any]:
    rules = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    return {"id": token, "content": text, "special": special, **rules}


def _begins(token: int, text: str) -> dict[str, Any]:
    one = [{"SpecialToken": {"id": text, "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}]
    return {
        "type": "TemplateProcessing",
        "single": one,
        "pair": [*one, {"Sequence": {"id": "B", "type_id": 1}}],
        "special_tokens": {text: {"id": text, "ids": [token], "tokens": [text]}},
    }
