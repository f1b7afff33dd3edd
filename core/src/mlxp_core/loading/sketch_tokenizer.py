"""A small byte-level tokenizer with MiniCPM5's special tokens, for model folders that we write ourselves."""

from __future__ import annotations

from typing import Any

from mlxp_core.prompting import byte_letters

MARKERS = {
    0: "<s>",
    1: "</s>",
    2: "<tool_call>",
    3: "</tool_call>",
    8: "<think>",
    9: "</think>",
    10: "<tool_response>",
    11: "</tool_response>",
    12: "<tools>",
    13: "</tools>",
    18: "<function",
    19: "</function>",
    20: "<param",
    24: "<|im_start|>",
    25: "<|im_end|>",
}
"""Ids as in MiniCPM5, but for the last two, which stand behind its whole vocabulary there."""

BEGIN, END, TURN_END = 0, 1, 25

_TEXTUAL = ("<think>", "</think>")
"""Markers that count as text: a tokenizer shows them even when it hides special tokens."""

_FIRST_BYTE = 32
_WORDS = ("the", "and", "hello", "model", "user", "assistant", "system", "function", "weather")
_SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}|"
    r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def sketch_tokenizer() -> dict[str, Any]:
    """Return a tokenizer.json: the markers, all bytes, and a few English words with their merges."""
    letters = {byte: letter for letter, byte in byte_letters().items()}
    merges = _merges(letters[ord(" ")])
    table = {token: MARKERS.get(token, f"<|reserved_{token}|>") for token in range(_FIRST_BYTE)}
    table.update({_FIRST_BYTE + byte: letter for byte, letter in letters.items()})
    pieces = dict.fromkeys(left + right for left, right in merges)
    table.update({_FIRST_BYTE + 256 + place: piece for place, piece in enumerate(pieces)})
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False}
    cut = {"type": "Split", "pattern": {"Regex": _SPLIT}, "behavior": "Isolated", "invert": False}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [_added(token, table[token]) for token in range(_FIRST_BYTE)],
        "normalizer": None,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [cut, level]},
        "post_processor": _begin_first(table[BEGIN]),
        "decoder": level,
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": False,
            "vocab": {text: token for token, text in table.items()},
            "merges": [list(pair) for pair in merges],
        },
    }


def sketch_tokenizer_config() -> dict[str, Any]:
    """Return the tokenizer_config.json that goes with it."""
    return {
        "add_bos_token": False,
        "bos_token": MARKERS[BEGIN],
        "clean_up_tokenization_spaces": False,
        "eos_token": MARKERS[TURN_END],
        "pad_token": MARKERS[END],
        "tokenizer_class": "PreTrainedTokenizerFast",
        "unk_token": None,
    }


def _merges(space: str) -> list[tuple[str, str]]:
    """Return the merges that build each word letter by letter, with and without a space in front."""
    merges: dict[tuple[str, str], None] = {}
    for word in _WORDS:
        for full in (word, space + word):
            built = full[0]
            for letter in full[1:]:
                merges[built, letter] = None
                built += letter
    return list(merges)


def _added(token: int, text: str) -> dict[str, Any]:
    return {
        "id": token,
        "content": text,
        "single_word": False,
        "lstrip": False,
        "rstrip": False,
        "normalized": False,
        "special": text not in _TEXTUAL,
    }


def _begin_first(begin: str) -> dict[str, Any]:
    """Return a post-processor that puts the beginning token in front of plain text."""
    mark: dict[str, Any] = {"SpecialToken": {"id": begin, "type_id": 0}}
    return {
        "type": "TemplateProcessing",
        "single": [mark, {"Sequence": {"id": "A", "type_id": 0}}],
        "pair": [mark, {"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
        "special_tokens": {begin: {"id": begin, "ids": [BEGIN], "tokens": [begin]}},
    }
