"""A finished conversation as tokens, and which of them the model is to say itself: what fine-tuning learns from.

The last answer stands behind the prompt that the server would have written for it. Templates tell the earlier ones in
another way now that they are history: most leave their thinking out. Where one begins is found by telling the
conversation once more with another answer in its place: up to where the two part, nothing is the answer's. An answer
ends with the first token that ends a turn.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence

from msgspec import Struct

from mlxp_core.contracts import ThinkingFormat
from mlxp_core.errors import BadRequest
from mlxp_core.prompting.normalize import normalize
from mlxp_core.prompting.prepare import check_ids
from mlxp_core.prompting.render import agreed
from mlxp_core.prompting.template import ChatTemplate
from mlxp_core.prompting.tokenizer import Tokenizer
from mlxp_core.prompting.traits import TemplateMessage, TemplateTool
from mlxp_core.prompting.write import write_messages, write_tool
from mlxp_core.types import Message, Thinking, ToolSpec

_LETTERS = ("a", "b")
"""Two other answers: no answer agrees with both."""


class Lesson(Struct, frozen=True):
    """A conversation.

    Attributes:
        text: all of it, up to the end of the last answer.
        tokens: its token ids.
        answers: ``[start, end)`` of each answer, in tokens, with the token that ends it; ascending.
    """

    text: str
    tokens: tuple[int, ...]
    answers: tuple[tuple[int, int], ...]


def lesson(
    messages: Sequence[Message],
    tools: Sequence[ToolSpec],
    *,
    template: ChatTemplate,
    tokenizer: Tokenizer,
    thinking: ThinkingFormat | None = None,
) -> Lesson:
    """Tell a conversation as the model's template does.

    What stands behind the last answer is left out.

    Args:
        messages: the conversation.
        tools: those the model was offered.
        template: the model's.
        tokenizer: the model's.
        thinking: the model's format; its switch is on where an answer has thinking.

    Raises:
        BadRequest: the template refuses the conversation, or no answer is left.
    """
    try:
        return _lesson(messages, tools, template, tokenizer, thinking)
    except RecursionError as error:
        raise BadRequest("a message or a tool's schema is nested too deeply", param="messages") from error


def _lesson(
    messages: Sequence[Message],
    tools: Sequence[ToolSpec],
    template: ChatTemplate,
    tokenizer: Tokenizer,
    thinking: ThinkingFormat | None,
) -> Lesson:
    turns = write_messages(normalize(messages, template.traits), template.traits)
    places = [place for place, turn in enumerate(turns) if turn["role"] == "assistant"]
    if not places:
        raise BadRequest("no message is the assistant's, so there is nothing to learn", param="messages")
    telling = _Telling(template, [write_tool(tool) for tool in tools], _switched(messages, thinking))
    text, cuts = _cut(telling, turns[: places[-1] + 1], places)
    tokens, spans = tokenizer.encode_spans(text)
    reaches = [end for _, end in spans]
    begins = [bisect_right(reaches, cut) for cut in cuts]
    answers = [
        (begin, _end(tokens, begin, limit, tokenizer.end_tokens))
        for begin, limit in zip(begins, [*begins[1:], len(tokens)], strict=True)
    ]
    if not any(begin < end for begin, end in answers):
        raise BadRequest("the model's chat template shows nothing of the answers", param="messages")
    return Lesson(text, check_ids(tokens, tokenizer), tuple(answers))


class _Telling(Struct, frozen=True):
    """One template with everything but the messages."""

    template: ChatTemplate
    tools: Sequence[TemplateTool]
    extras: Mapping[str, object]

    def told(self, turns: Sequence[TemplateMessage], *, prime: bool = False) -> str:
        """Return a conversation as text; ``prime``: up to where an answer begins."""
        return self.template.render(turns, tools=self.tools, prime=prime, extras=self.extras)

    def prompt(self, turns: Sequence[TemplateMessage]) -> str:
        """Return what the model reads before it answers; nothing where the template has no such prompt."""
        try:
            return self.told(turns, prime=True)
        except BadRequest:
            return ""

    def parting(self, turns: Sequence[TemplateMessage], place: int, text: str, *, prime: bool) -> int:
        """Return up to where ``text``, in characters, is the same with another answer at ``place``."""
        plain = [{"role": "assistant", "content": letter} for letter in _LETTERS]
        calling = [{**turns[place], "content": letter} for letter in _LETTERS]
        try:
            told = [self.told([*turns[:place], other, *turns[place + 1 :]], prime=prime) for other in plain]
        except BadRequest:  # some templates refuse results without a call
            told = [self.told([*turns[:place], other, *turns[place + 1 :]], prime=prime) for other in calling]
        prompt = self.prompt(turns[:place])
        return max(len(prompt) if text.startswith(prompt) else 0, min(agreed(each, text) for each in told))


def _cut(telling: _Telling, turns: Sequence[TemplateMessage], places: Sequence[int]) -> tuple[str, list[int]]:
    """Return the conversation as text, and where in it, in characters, the answer at each place begins."""
    text, prompt = telling.told(turns), telling.prompt(turns[:-1])
    begin = telling.parting(turns, places[-1], text, prime=False)
    if prompt and not text.startswith(prompt):
        text, begin = prompt + text[begin:], len(prompt)
    history = turns[:-1] if prompt else turns
    earlier = [telling.parting(history, place, text, prime=bool(prompt)) for place in places[:-1]]
    return text, [*earlier, begin]


def _switched(messages: Sequence[Message], thinking: ThinkingFormat | None) -> dict[str, object]:
    if thinking is None or thinking.switch is None:
        return {}
    return {
        thinking.switch: any(isinstance(part, Thinking) for message in messages for part in message.parts)
    }


def _end(tokens: Sequence[int], begin: int, limit: int, ends: frozenset[int]) -> int:
    """Return the place behind the first token that ends a turn; ``limit`` where none does."""
    return next((place + 1 for place in range(begin, limit) if tokens[place] in ends), limit)
