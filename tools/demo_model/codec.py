"""The tokenizer: trained here, written as a tokenizer.json, and read quickly.

Words are made of letters alone: spaces are tokens of their own and digits come one by one, so that a name has the same
tokens wherever it stands, within a schema, a sentence or a call. Marks with single spaces between them, as in JSON, go
together. A part that is marked as spelled is one token a letter, which the tokenizer itself would never write, but
reads.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import regex
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers

from demo_model.conversation import SPELL_BEGIN, SPELL_END

SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
"""Tokens that are no text."""

MARKERS = (
    *("<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>", "<think>", "</think>"),
    *("<function=", "</function>", "<parameter=", "</parameter>"),
)
"""Tokens that are cut out of the text first, and are text."""

PATTERN = r"\p{L}+|\p{N}|[^\s\p{L}\p{N}]+(?: [^\s\p{L}\p{N}]+)*|[\r\n]+| +|\s"
VOCABULARY = 4096
END, TURN_END = 0, 2


def train(texts: Iterable[str], *, vocabulary: int = VOCABULARY) -> Tokenizer:
    """Train the tokenizer on texts."""
    tokenizer = Tokenizer(models.BPE())
    level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    split = pre_tokenizers.Split(pattern=_rust(PATTERN), behavior="isolated")
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([split, level])
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=[AddedToken(text, special=True, normalized=False) for text in (*SPECIAL, *MARKERS)],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
        max_token_length=16,
    )
    tokenizer.train_from_iterator(texts, trainer)
    made: dict[str, Any] = json.loads(tokenizer.to_str())
    for token in made["added_tokens"]:
        token["special"] = token["content"] in SPECIAL
    return Tokenizer.from_str(json.dumps(made))


def _rust(pattern: str) -> Any:
    from tokenizers import Regex  # noqa: PLC0415  # a name that would hide the module of the same meaning above

    return Regex(pattern)


class Codec:
    """Text to token ids and back; remembers words, as there are few."""

    def __init__(self, file: Path) -> None:
        """Read a tokenizer.json."""
        self.tokenizer = Tokenizer.from_file(str(file))
        self._pieces = regex.compile(PATTERN)
        self._marks = regex.compile("|".join(regex.escape(text) for text in (*SPECIAL, *MARKERS)))
        self._known: dict[str, list[int]] = {
            text: [self.tokenizer.token_to_id(text)] for text in (*SPECIAL, *MARKERS)
        }
        self._letters: dict[str, list[int]] = {}

    def encode(self, text: str) -> list[int]:
        """Return the ids of a text; spelled parts letter by letter."""
        if SPELL_BEGIN not in text:
            return self._encode(text)
        ids: list[int] = []
        for place, part in enumerate(regex.split(f"[{SPELL_BEGIN}{SPELL_END}]", text)):
            ids += self._spell(part) if place % 2 else self._encode(part)
        return ids

    def decode(self, ids: list[int]) -> str:
        """Return the text of ids, markers included."""
        text: str = self.tokenizer.decode(ids, skip_special_tokens=False)
        return text

    def _encode(self, text: str) -> list[int]:
        ids: list[int] = []
        start = 0
        for mark in self._marks.finditer(text):
            ids += self._plain(text[start : mark.start()])
            ids += self._known[mark.group()]
            start = mark.end()
        return ids + self._plain(text[start:])

    def _plain(self, text: str) -> list[int]:
        ids: list[int] = []
        for piece in self._pieces.findall(text):
            known = self._known.get(piece)
            if known is None:
                known = self.tokenizer.encode(piece, add_special_tokens=False).ids
                if len(self._known) < _MOST_WORDS:
                    self._known[piece] = known
            ids += known
        return ids

    def _spell(self, text: str) -> list[int]:
        ids: list[int] = []
        for letter in text:
            if letter not in self._letters:
                self._letters[letter] = self.tokenizer.encode(letter, add_special_tokens=False).ids
            ids += self._letters[letter]
        return ids


_MOST_WORDS = 300_000
