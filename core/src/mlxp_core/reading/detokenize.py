"""Tokens to text, one at a time: every character once, whole, and as the tokenizer's own decoder would join it.

A token stands for bytes, and a character may be spread over several tokens. Two spellings differ in what invalid
bytes become:

* byte-level BPE: bytes flow through a UTF-8 decoder; each maximal invalid part becomes one U+FFFD.
* byte fallback (SentencePiece): a run of byte pieces is judged as a whole when it ends; an invalid run becomes one
  U+FFFD for each of its bytes, so nothing of a run is certain before the next ordinary piece.
"""

import codecs
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

_REPLACEMENT = "\ufffd"


class TokenTable(Protocol):
    """What reading needs to know of a tokenizer."""

    added_tokens: Mapping[int, str]
    """id -> text of every token that is cut out of a text before anything else; the special ones are among them."""

    special_tokens: Mapping[int, str]
    """id -> text of the tokens that are no text themselves."""

    def token_id(self, text: str) -> int | None:
        """Return the id of the token written exactly ``text``, or ``None``."""
        ...

    def token_bytes(self, token: int) -> bytes:
        """Return the bytes a token stands for; empty for special ones and for unknown ids."""
        ...

    def decode(self, tokens: Sequence[int], *, special: bool = True) -> str:
        """Return the text of ``tokens``; ``special`` says whether special tokens show."""
        ...


class Detokenizer:
    """The text of one sequence of tokens; special tokens stand for nothing.

    What all calls of ``feed`` and a last ``flush`` return joins to ``table.decode(tokens, special=False)``.
    """

    def __init__(self, table: TokenTable) -> None:
        self._table = table
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._fallback = _has_byte_pieces(table)
        self._run = bytearray()
        self._beginning: list[int] | None = []  # the tokens before the first text

    def feed(self, token: int) -> str:
        """Take the next token; return the text that is certain now, often empty in the middle of a character."""
        data = self._table.token_bytes(token)
        if not data:
            return ""
        text = self._joined(token, data) if self._fallback else self._decoder.decode(data)
        if self._beginning is not None:
            self._beginning.append(token)
            return self._begin(text)
        return text

    def flush(self) -> str:
        """Return what is still held back, because nothing follows that could complete it."""
        text = self._end_run() if self._fallback else self._decoder.decode(b"", final=True)
        return self._begin(text)

    def _joined(self, token: int, data: bytes) -> str:
        """Take a token of a vocabulary with byte pieces."""
        if len(data) == 1 and self._table.token_id(_byte_piece(data[0])) == token:
            self._run += data
            return ""
        text = data.decode("utf-8", "replace")
        return self._end_run() + text if self._run else text

    def _end_run(self) -> str:
        run, self._run = bytes(self._run), bytearray()
        try:
            return run.decode("utf-8")
        except UnicodeDecodeError:
            return _REPLACEMENT * len(run)

    def _begin(self, text: str) -> str:
        """Return the first text with as many leading spaces as the tokenizer's own decoder leaves it."""
        if not text or self._beginning is None:
            return text
        tokens, self._beginning = self._beginning, None
        if text[0] != " ":
            return text
        first = self._table.decode(tokens, special=False)
        return first[: len(first) - len(first.lstrip(" "))] + text.lstrip(" ")


def marker_tokens(table: TokenTable, markers: Iterable[str]) -> dict[int, str]:
    """Return id -> text of the markers that are one token of this tokenizer; the others are plain text in it."""
    tokens = {table.token_id(marker): marker for marker in markers if marker}
    return {
        token: marker for token, marker in tokens.items() if token is not None and token in table.added_tokens
    }


def _byte_piece(byte: int) -> str:
    return f"<0x{byte:02X}>"


def _has_byte_pieces(table: TokenTable) -> bool:
    token = table.token_id(_byte_piece(0))
    return token is not None and table.token_bytes(token) == b"\x00"
