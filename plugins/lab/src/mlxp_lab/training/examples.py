"""Rows as tokens, and which of them are learned."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

from msgspec import Struct

from mlxp_core.errors import BadRequest
from mlxp_core.types import Message, Text, ToolSpec
from mlxp_core.workshop import OpenModel
from mlxp_lab.datasets.rows import ChatRow, CompletionRow, PreferenceRow, Row, TextRow
from mlxp_lab.training.parameters import Learn

Spans = tuple[tuple[int, int], ...]


class Example(Struct, frozen=True):
    """A row of tokens; ``learned``: ``[start, end)`` of those that are learned."""

    tokens: tuple[int, ...]
    learned: Spans

    @property
    def count(self) -> int:
        """Return how many tokens are learned: the first has nothing before it that it could follow from."""
        return sum(end - max(1, start) for start, end in self.learned)


class Pair(Struct, frozen=True):
    """A good answer and a worse one, each behind the same prompt."""

    chosen: Example
    rejected: Example


class Teacher:
    """Turns rows into tokens for one model."""

    def __init__(self, model: OpenModel, *, learn: Learn, chat_template: bool, max_tokens: int) -> None:
        """Teach a model.

        Args:
            model: whose tokenizer and template it is.
            learn: which answers.
            chat_template: whether prompts and completions are told as conversations where there is a template.
            max_tokens: most of a row.
        """
        self._frontend = model.frontend
        self._learn, self._most = learn, max_tokens
        self._chats = chat_template and model.frontend.template is not None
        self._end = _end_token(model)

    def example(self, row: ChatRow | CompletionRow | TextRow) -> Example | None:
        """Return a row as tokens; ``None`` where nothing to learn is left of it once it is cut.

        Raises:
            BadRequest: the model's template refuses it.
        """
        whole = self._whole(row)
        learned = self._limited(whole)
        cut = Example(learned.tokens[: self._most], _within(learned.learned, 0, self._most))
        return cut if cut.count else None

    def pair(self, row: PreferenceRow) -> Pair | None:
        """Return a row as tokens, cut in front so that answers stay; ``None`` where an answer alone is too long.

        Raises:
            BadRequest: the model's template refuses it.
        """
        chosen, rejected = (self._answered(row, answer) for answer in (row.chosen, row.rejected))
        kept = [self._fitted(each) for each in (chosen, rejected)]
        return None if kept[0] is None or kept[1] is None else Pair(kept[0], kept[1])

    def _whole(self, row: ChatRow | CompletionRow | TextRow) -> Example:
        match row:
            case ChatRow(messages=messages, tools=tools):
                return self._chat(messages, tools)
            case CompletionRow(prompt=prompt, completion=completion) if self._chats and prompt.strip():
                return self._chat((_says("user", prompt), _says("assistant", completion)), ())
            case CompletionRow(prompt=prompt, completion=completion):
                return self._continued(prompt, completion)
            case TextRow(text=text):
                tokens = self._ended(self._frontend.tokenizer.encode(text, special=True))
                return Example(tokens, ((0, len(tokens)),))

    def _limited(self, whole: Example) -> Example:
        """Return what of a row is to be learned."""
        match self._learn:
            case "answers":
                return _ending(whole.tokens, whole.learned)
            case "last":
                return _ending(whole.tokens, whole.learned[-1:])
            case "all":
                return Example(whole.tokens, ((0, len(whole.tokens)),))

    def _answered(self, row: PreferenceRow, answer: str) -> Example:
        if isinstance(row.prompt, str) and not (self._chats and row.prompt.strip()):
            return self._continued(row.prompt, answer)
        prompt = (_says("user", row.prompt),) if isinstance(row.prompt, str) else row.prompt
        told = self._chat((*prompt, _says("assistant", answer)), row.tools)
        return _ending(told.tokens, told.learned[-1:])

    def _fitted(self, told: Example) -> Example | None:
        excess = max(0, len(told.tokens) - self._most)
        if told.learned[0][0] <= excess:  # the first token of an answer must follow from something
            return told if excess == 0 else None
        return Example(told.tokens[excess:], _within(told.learned, excess, len(told.tokens)))

    def _chat(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Example:
        told = self._frontend.lesson(messages, tools)
        return Example(told.tokens, told.answers)

    def _continued(self, prompt: str, completion: str) -> Example:
        """Return a text whose beginning is given."""
        encode = self._frontend.tokenizer.encode
        before = encode(prompt, special=True)
        tokens = encode(prompt + completion, special=True)
        same = sum(1 for _ in takewhile(lambda both: both[0] == both[1], zip(before, tokens, strict=False)))
        ended = self._ended(tokens)
        return Example(ended, ((same, len(ended)),))

    def _ended(self, tokens: Sequence[int]) -> tuple[int, ...]:
        if not tokens or max(tokens) >= self._frontend.tokenizer.size:
            raise BadRequest("the text has no tokens, or some that the model does not know")
        if self._end is None or tokens[-1] == self._end:
            return tuple(tokens)
        return (*tokens, self._end)


def taught(row: Row, teacher: Teacher) -> Example | Pair | None:
    """Return a row as tokens, of either kind; see ``Teacher``."""
    return teacher.pair(row) if isinstance(row, PreferenceRow) else teacher.example(row)


def length_of(item: Example | Pair) -> int:
    """Return how many tokens the longest row of an item has."""
    match item:
        case Pair(chosen=chosen, rejected=rejected):
            return max(len(chosen.tokens), len(rejected.tokens))
        case Example(tokens=tokens):
            return len(tokens)


def _ending(tokens: Sequence[int], learned: Spans) -> Example:
    """Return a row without what stands behind the last token that is learned."""
    return Example(tuple(tokens[: learned[-1][1]]), learned)


def _within(spans: Spans, begin: int, end: int) -> Spans:
    """Return spans as they lie in a piece of the row."""
    cut = ((max(start, begin) - begin, min(stop, end) - begin) for start, stop in spans)
    return tuple((start, stop) for start, stop in cut if start < stop)


def _says(role: str, text: str) -> Message:
    return Message("user" if role == "user" else "assistant", (Text(text),))


def _end_token(model: OpenModel) -> int | None:
    """Return the token that ends a text: the tokenizer's own, or the first of those that end an answer."""
    named = model.folder.tokenizer_config.get("eos_token")
    text = named.get("content") if isinstance(named, dict) else named
    found = model.frontend.tokenizer.token_id(text) if isinstance(text, str) else None
    return found if found is not None else min(model.frontend.end_tokens, default=None)
