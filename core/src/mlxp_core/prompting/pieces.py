"""The bytes that a vocabulary's pieces stand for: byte-level, SentencePiece and plain spelling."""

from collections.abc import Callable, Iterator
from typing import Any

import msgspec

PieceReader = Callable[[str], bytes]

_SPACE = "\u2581"  # SentencePiece's visible space


def byte_letters() -> dict[str, int]:
    """Return the letter -> byte table of byte-level BPE.

    Printable Latin-1 bytes are written as themselves, the 68 others as the letters from U+0100 on, in byte order
    (GPT-2's table, which every byte-level tokenizer.json uses).
    """
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    table = {chr(byte): byte for byte in printable}
    others = (byte for byte in range(256) if byte not in printable)
    table.update({chr(0x100 + place): byte for place, byte in enumerate(others)})
    return table


def piece_reader(decoder: msgspec.Raw) -> PieceReader:
    """Choose how pieces are spelled by the ``decoder`` of a tokenizer.json."""
    steps = tuple(_steps(msgspec.json.decode(decoder)))
    if any(step.get("type") == "ByteLevel" for step in steps):
        return _byte_level_reader()
    fallback = any(step.get("type") == "ByteFallback" for step in steps)
    marks = [_space_mark(step) for step in steps]
    return _spelled_reader(next((mark for mark in marks if mark), None), fallback=fallback)


def _steps(decoder: Any) -> Iterator[dict[str, Any]]:
    """Yield the decoder's steps, flat."""
    if isinstance(decoder, dict):
        if decoder.get("type") == "Sequence":
            for step in decoder.get("decoders", ()):
                yield from _steps(step)
        else:
            yield decoder


def _space_mark(step: dict[str, Any]) -> str | None:
    """Return the letters that a decoding step turns into a space, if it does so."""
    if step.get("type") == "Metaspace":
        return str(step.get("replacement", _SPACE))
    if step.get("type") == "Replace" and step.get("content") == " ":
        pattern = step.get("pattern")
        return str(pattern.get("String", "")) if isinstance(pattern, dict) else None
    return None


def _byte_level_reader() -> PieceReader:
    letters = byte_letters()

    def read(piece: str) -> bytes:
        try:
            return bytes([letters[letter] for letter in piece])
        except KeyError:  # not spelled in bytes, such as a filler that no text produces
            return piece.encode("utf-8")

    return read


def _spelled_reader(mark: str | None, *, fallback: bool) -> PieceReader:
    def read(piece: str) -> bytes:
        if fallback and len(piece) == len("<0xAB>") and piece.startswith("<0x") and piece.endswith(">"):
            return bytes.fromhex(piece[3:5])
        return (piece.replace(mark, " ") if mark else piece).encode("utf-8")

    return read
