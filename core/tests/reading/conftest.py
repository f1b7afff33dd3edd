"""Tokenizers of both spellings: our own sketch, a made one with byte pieces, and real ones where they are present."""

import json

import pytest

from mlxp_core.loading.sketch_tokenizer import sketch_tokenizer
from mlxp_core.prompting import Tokenizer


def byte_pieces_tokenizer(*, strip):
    """A SentencePiece-like tokenizer.json: byte pieces, letters, words with a visible space, two special tokens."""
    pieces = [
        "<pad>",
        "<end>",
        *(f"<0x{byte:02X}>" for byte in range(256)),
        *"▁abcé日🍜",
        "▁the",
        "▁▁",
    ]
    decoders = [
        {"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
        {"type": "ByteFallback"},
        {"type": "Fuse"},
    ]
    if strip:
        decoders.append({"type": "Strip", "content": " ", "start": 1, "stop": 0})
    added = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [{"id": token, "content": pieces[token], **added} for token in (0, 1)],
        "normalizer": None,
        "pre_tokenizer": None,
        "post_processor": None,
        "decoder": {"type": "Sequence", "decoders": decoders},
        "model": {
            "type": "BPE",
            "byte_fallback": True,
            "unk_token": None,
            "vocab": {piece: token for token, piece in enumerate(pieces)},
            "merges": [],
        },
    }


def _read(parts):
    return Tokenizer(json.dumps(parts).encode())


MADE = {
    "byte-level": lambda: _read(sketch_tokenizer()),
    "byte pieces": lambda: _read(byte_pieces_tokenizer(strip=False)),
    "byte pieces, first space stripped": lambda: _read(byte_pieces_tokenizer(strip=True)),
}


@pytest.fixture(scope="session")
def sketch():
    return MADE["byte-level"]()


@pytest.fixture(scope="session")
def byte_pieces():
    return MADE["byte pieces"]()


@pytest.fixture(scope="session", params=sorted(MADE))
def made_tokenizer(request):
    return MADE[request.param]()


@pytest.fixture(scope="session", params=["gemma4", "qwen35"])
def real_tokenizer(request, shared):
    return Tokenizer((shared / "assets" / request.param / "tokenizer.json").read_bytes())
