"""The automaton of one answer, over llguidance, and the tables it needs of each tokenizer."""

import json
import re
from threading import Lock
from weakref import WeakKeyDictionary

from llguidance import LLMatcher, LLTokenizer

from mlxp_core.contracts import Constraint, Vocabulary
from mlxp_core.errors import BadRequest, EngineFault

_MARK = b"\xff"
"""Begins the bytes of what is no text, in llguidance's tables."""

_MOST_TEXT = 500  # characters of the library's own words in an error
_LACKING = re.compile(r"Unimplemented keys: (\[.*?\])")
_PLACE = re.compile(r"^at \d+\(\d+\): (?:failed to compile JSON schema: )?")


class Automata:
    """Makes automata. What is made of a tokenizer takes seconds, and is kept as long as the tokenizer lives."""

    def __init__(self) -> None:
        """Begin with no tokenizer known."""
        self._tables: WeakKeyDictionary[Vocabulary, LLTokenizer] = WeakKeyDictionary()
        self._lock = Lock()

    def constraint(self, source: str, vocabulary: Vocabulary) -> Constraint:
        """Return the automaton of one answer.

        Args:
            source: a grammar as llguidance reads it.
            vocabulary: of the model that answers.

        Raises:
            BadRequest: the grammar is wrong, cannot be met, or is too large.
        """
        matcher = LLMatcher(self._table(vocabulary), LLMatcher.grammar_from_lark(source), log_level=0)
        if matcher.is_error():
            raise BadRequest(f"the answer cannot be held to this shape: {_told(matcher)}")
        return Automaton(matcher)

    def _table(self, vocabulary: Vocabulary) -> LLTokenizer:
        with self._lock:
            table = self._tables.get(vocabulary)
            if table is None:
                ends = sorted(vocabulary.end_tokens)
                made = LLTokenizer(TokenTable(vocabulary), n_vocab=vocabulary.size, eos_token=ends)  # type: ignore[arg-type]  # it asks for attributes, not for the class
                table = self._tables[vocabulary] = made
            return table


class Automaton:
    """The state of one row's answer; a ``Constraint``."""

    def __init__(self, matcher: LLMatcher) -> None:
        """Begin at the first token."""
        self._matcher = matcher

    def allowed(self) -> bytes:
        """Return the bitmask of tokens that may come next; once the answer has its shape, an end token may.

        Raises:
            EngineFault: nothing may come, or the automaton has grown too large.
        """
        mask = self._matcher.compute_bitmask()
        self._check()
        return mask

    def advance(self, token: int) -> None:
        """Take the token that was drawn.

        Raises:
            EngineFault: it was not allowed.
        """
        self._matcher.consume_token(token)
        self._check()

    def _check(self) -> None:
        if self._matcher.is_error():
            raise EngineFault(f"the answer could not be held to its shape: {_told(self._matcher)}")


class TokenTable:
    """A vocabulary as llguidance wants to see a tokenizer."""

    is_tokenizer_wrapper = True
    bos_token_id = None

    def __init__(self, vocabulary: Vocabulary) -> None:
        """Read the bytes of every token."""
        self._vocabulary = vocabulary
        self._added = vocabulary.added_tokens
        self.eos_token_id = min(vocabulary.end_tokens)
        self.tokens = [self._bytes(token) for token in range(vocabulary.size)]
        self.special_token_ids = sorted(self._added)
        self._ids = {data: token for token, data in reversed(list(enumerate(self.tokens))) if data}
        self._longest = max(map(len, self._ids))

    def __call__(self, text: str) -> list[int]:
        """Return the ids of a text without markers, as the model would write it."""
        data = text.encode()
        ids = self._vocabulary.encode(text)
        if b"".join(self.tokens[token] for token in ids) == data:
            return ids
        return list(self._piecewise(data))

    def _piecewise(self, data: bytes) -> list[int]:
        """Return ids of the longest pieces that ``data`` begins with, one after the other."""
        ids: list[int] = []
        at = 0
        while at < len(data):
            lengths = range(min(self._longest, len(data) - at), 0, -1)
            length = next(length for length in lengths if data[at : at + length] in self._ids)
            ids.append(self._ids[data[at : at + length]])
            at += length
        return ids

    def _bytes(self, token: int) -> bytes:
        marker = self._added.get(token)
        return self._vocabulary.token_bytes(token) if marker is None else _MARK + marker.encode()


def _told(matcher: LLMatcher) -> str:
    """Return why a matcher failed: the first line of what it says, or which keywords of a schema it lacks."""
    told: str = matcher.get_error()
    lacking = _LACKING.search(told)
    if lacking is not None:
        return f"the schema has keywords that cannot be held: {', '.join(json.loads(lacking[1]))}"
    first, *others = [line.strip() for line in told.splitlines() if line.strip()] or ["no reason given"]
    why = next((line for line in others if line.startswith("error:")), "")
    return " ".join([_PLACE.sub("", first), why]).strip()[:_MOST_TEXT]
