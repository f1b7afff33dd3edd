"""Text to token ids and back, over a tokenizer.json."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
import tokenizers

from mlxp_core.errors import ModelFolderError
from mlxp_core.prompting.beginnings import Beginnings
from mlxp_core.prompting.pieces import PieceReader, piece_reader


class AddedToken(msgspec.Struct, frozen=True):
    """A token that is cut out of the text before anything else; ``special`` ones are no text."""

    id: int
    content: str
    special: bool = False


class TokenizerParts(msgspec.Struct, frozen=True):
    """The parts of a tokenizer.json that we read ourselves; decoding skips the large rest."""

    decoder: msgspec.Raw = msgspec.Raw(b"null")
    added_tokens: tuple[AddedToken, ...] = ()


class Tokenizer:
    """A tokenizer as its files describe it; threads may share it.

    Attributes:
        size: number of logits of the model, padding rows included.
        used: ids from this one on are no tokens: padding rows of the head, which must not be drawn.
        end_tokens: tokens that end a turn.
        special_tokens: id -> text of the tokens that are no text themselves.
        added_tokens: id -> text of all tokens that are cut out of the text first; the special ones are among them.
        begin: id of the token that begins a sequence; ``None`` = the model has none.
    """

    def __init__(
        self,
        text: bytes,
        *,
        size: int | None = None,
        begin: str | None = None,
        begins: bool = False,
        end_tokens: frozenset[int] = frozenset(),
    ) -> None:
        """Read a tokenizer.json.

        Args:
            text: the file's content.
            size: number of logits; ``None`` = as many as the tokenizer has tokens.
            begin: text of the token that begins a sequence.
            begins: whether plain text needs that token in front although the tokenizer does not put it there.
            end_tokens: tokens that end a turn.

        Raises:
            ModelFolderError: when the text is no tokenizer.
        """
        self._inner, parts = _open(text)
        self._pieces: PieceReader = piece_reader(parts.decoder)
        self._bytes: dict[int, bytes] = {}
        added = self._inner.get_added_tokens_decoder()
        self.added_tokens: Mapping[int, str] = {token: entry.content for token, entry in added.items()}
        self.special_tokens: Mapping[int, str] = {
            token: entry.content for token, entry in added.items() if entry.special
        }
        found_anywhere = {
            token: entry.content
            for token, entry in added.items()
            if not (entry.normalized or entry.single_word or entry.lstrip)
        }
        longest = max(map(len, self.added_tokens.values()), default=0)
        self._beginnings = Beginnings(self._encode_spans, found_anywhere, longest)
        known = self._inner.get_vocab_size(with_added_tokens=True)
        self.size = max(size, 1) if size is not None else known
        self.used = _used(self._inner, self.size)
        self.end_tokens = end_tokens
        self.begin = self.token_id(begin) if begin is not None else None
        self._begins = begins and self.begin is not None

    def encode(self, text: str, *, special: bool = False) -> list[int]:
        """Return the ids of ``text``; markers of special tokens in it become those tokens.

        Args:
            text: what to encode.
            special: whether to add what the tokenizer puts around plain text, such as a beginning token; a text
                that already has that token does not get it twice.
        """
        ids: list[int] = self._inner.encode(text, add_special_tokens=special).ids
        if not special or self.begin is None:
            return ids
        if self._begins and ids[:1] != [self.begin]:
            return [self.begin, *ids]
        return ids[1:] if ids[:2] == [self.begin, self.begin] else ids

    def encode_spans(self, text: str) -> tuple[list[int], list[tuple[int, int]]]:
        """Return the ids of ``text`` without additions, and the characters ``[start, end)`` each came from.

        Quick where ``text`` begins like one that was encoded lately.
        """
        return self._beginnings.encode(text)

    def _encode_spans(self, text: str) -> tuple[list[int], list[tuple[int, int]]]:
        encoding = self._inner.encode(text, add_special_tokens=False)
        return encoding.ids, encoding.offsets

    def decode(self, tokens: Sequence[int], *, special: bool = True) -> str:
        """Return the text of ``tokens``, as the tokenizer's own decoder joins it.

        Args:
            tokens: ids; those beyond the tokenizer (padding rows of the head) are left out.
            special: whether special tokens show.
        """
        known = [token for token in tokens if self._inner.id_to_token(token) is not None]
        return self._inner.decode(known, skip_special_tokens=not special)

    def token_id(self, text: str) -> int | None:
        """Return the id of the token written exactly ``text``, or ``None``."""
        token: int | None = self._inner.token_to_id(text)
        return token

    def difference(self, other: Tokenizer) -> str | None:
        """Say in what the tokens of another one differ; ``None`` = they are the same."""
        if self.used != other.used:
            return f"there are {other.used} tokens in one, {self.used} in the other"
        for token in range(self.used):
            mine, theirs = self._inner.id_to_token(token), other._inner.id_to_token(token)
            if mine != theirs:
                return f"token {token} is {theirs!r} in one, {mine!r} in the other"
        return None

    def token_text(self, token: int) -> str:
        """Return what one token shows as; special tokens their marker, parts of characters U+FFFD."""
        marker = self.added_tokens.get(token)
        return self.token_bytes(token).decode("utf-8", "replace") if marker is None else marker

    def token_bytes(self, token: int) -> bytes:
        """Return the bytes a token stands for; empty for special ones and for ids the tokenizer does not know."""
        known = self._bytes.get(token)
        if known is None:
            known = self._bytes[token] = self._read_piece(token)
        return known

    def tokenizer_json(self) -> str:
        """Return the tokenizer.json text, for libraries that read it themselves."""
        text: str = self._inner.to_str()
        return text

    def _read_piece(self, token: int) -> bytes:
        if token in self.special_tokens:
            return b""
        marker = self.added_tokens.get(token)
        if marker is not None:
            return marker.encode("utf-8")
        piece = self._inner.id_to_token(token) if 0 <= token < self.size else None
        return b"" if piece is None else self._pieces(piece)


def read_parts(path: Path) -> TokenizerParts:
    """Read the few parts of a tokenizer.json that tell a model's special tokens, quickly.

    Raises:
        ModelFolderError: when the file cannot be read or is no tokenizer.
    """
    try:
        return msgspec.json.decode(path.read_bytes(), type=TokenizerParts)
    except (OSError, msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise ModelFolderError(f"{path.parent.name}: {path.name} cannot be read: {error}") from error


def _used(inner: tokenizers.Tokenizer, size: int) -> int:
    """Return one more than the highest id below ``size`` that is a token; ``size`` itself where none is."""
    return next(
        (token + 1 for token in range(size - 1, -1, -1) if inner.id_to_token(token) is not None), size
    )


def _open(text: bytes) -> tuple[tokenizers.Tokenizer, TokenizerParts]:
    try:
        parts = msgspec.json.decode(text, type=TokenizerParts)
        inner = tokenizers.Tokenizer.from_str(text.decode("utf-8"))
    except Exception as error:  # tokenizers raises plain Exception
        raise ModelFolderError(f"tokenizer.json is damaged or of an unknown kind: {error}") from error
    inner.no_truncation()
    inner.no_padding()
    return inner, parts
