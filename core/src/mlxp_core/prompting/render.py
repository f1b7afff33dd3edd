"""A conversation as the text of a prompt, and where in it the conversation could have ended."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from os.path import commonprefix

from msgspec import Struct

from mlxp_core.contracts import ThinkingFormat
from mlxp_core.errors import BadRequest
from mlxp_core.prompting.normalize import normalize
from mlxp_core.prompting.template import ChatTemplate
from mlxp_core.prompting.traits import TemplateMessage, TemplateTool
from mlxp_core.prompting.write import images_of, write_messages, write_tool
from mlxp_core.types import GenerateRequest, ImageBytes, Message

_OURS = ("messages", "tools", "documents", "add_generation_prompt")
"""Template variables that a request cannot set as ``template_args``."""

_HERE = "\ue0f1\ue0f2\ue0f3"
"""Marks a place in a message, to be found again in the prompt; letters of a private area, which nobody writes."""


class Rendering(Struct, frozen=True, kw_only=True):
    """A conversation as text.

    Attributes:
        text: the whole prompt.
        history: how much of it, in characters, is conversation; what follows leads into the answer.
        ends: where, in characters, other prompts of this conversation may part from this one: behind the
            instructions, behind the words of each of the last messages, and where the conversation ends; ascending.
        images: of the conversation, in the order in which the template came by them.
        words: where the words of each message but the last end, in characters; those of a message without words end
            where the ones before it do.
    """

    text: str
    history: int
    ends: tuple[int, ...]
    images: tuple[ImageBytes, ...] = ()
    words: tuple[int, ...] = ()


def render(
    request: GenerateRequest,
    messages: Sequence[Message],
    template: ChatTemplate,
    thinking: ThinkingFormat | None,
    *,
    recent: int = 8,
) -> Rendering:
    """Render a conversation.

    A conversation whose last message is an answer without calls is to be continued in the middle of that answer.

    Args:
        request: the tools, the tool choice (``none`` hides the tools), and what the template is told.
        messages: the conversation.
        template: the model's.
        thinking: the model's format, whose switch tells the template whether to think.
        recent: for how many of the last messages ends are given; earlier ones belong to earlier prompts.

    Raises:
        BadRequest: when the template refuses.
    """
    extras = _extras(request, thinking)
    tools = [] if request.tool_choice.mode == "none" else [write_tool(tool) for tool in request.tools]
    told_as = normalize(messages, template.traits)
    turns = write_messages(told_as, template.traits)
    ask = _Asking(template, tools, extras)
    told, text = (turns[:-1], ask.continued(turns)) if _goes_on(turns) else (turns, ask.primed(turns))
    history = ask.agreement(told, text)
    words = ask.words(told, text)
    ends = {ask.instructions(told, text), *sorted(set(words))[-recent:], history}
    return Rendering(
        text=text,
        history=history,
        ends=tuple(sorted(ends - {0})),
        images=images_of(told_as),
        words=tuple(words),
    )


class _Asking:
    """One template with everything but the messages."""

    def __init__(
        self, template: ChatTemplate, tools: Sequence[TemplateTool], extras: dict[str, object]
    ) -> None:
        self._template = template
        self._tools = tools
        self._extras = extras

    def primed(self, turns: Sequence[TemplateMessage]) -> str:
        """Return the prompt, up to where the answer begins."""
        return self._template.render(turns, tools=self._tools, prime=True, extras=self._extras)

    def continued(self, turns: Sequence[TemplateMessage]) -> str:
        """Return the prompt, up to the last word of the last message."""
        last = {**turns[-1], "content": turns[-1]["content"] + _HERE}
        before, mark, _ = self._told([*turns[:-1], last]).rpartition(_HERE)
        if not mark:
            raise BadRequest(
                "the model's chat template does not show the last answer, so it cannot be continued; "
                "end the conversation with a user message",
                param="prompt",
            )
        return before

    def agreement(self, turns: Sequence[TemplateMessage], text: str) -> int:
        """Return for how long ``text`` agrees with ``turns`` told alone."""
        return agreed(self._attempt(turns), text)

    def words(self, turns: Sequence[TemplateMessage], text: str) -> list[int]:
        """Return where the words of each message but the last end, as far as marks there change nothing else."""
        marked = [_marked(turn) for turn in turns[:-1]]
        pieces = self._attempt([*marked, *turns[-1:]]).split(_HERE)
        reach = agreed("".join(pieces), text)
        found = iter([end for end in accumulate(map(len, pieces[:-1])) if end <= reach])
        ends: list[int] = []
        for before, turn in zip(marked, turns, strict=False):
            end = ends[-1] if ends else 0
            ends.append(end if before is turn else next(found, end))
        return ends

    def instructions(self, turns: Sequence[TemplateMessage], text: str) -> int:
        """Return how far ``text`` agrees with a conversation under the same instructions about something else."""
        head = [turn for turn in turns[:1] if turn["role"] == "system"]
        if not head and not self._tools:
            return 0
        asked = turns[len(head)]["content"] if len(turns) > len(head) else ""
        other = "b" if str(asked).lstrip()[:1] == "a" else "a"
        return self.agreement([*head, {"role": "user", "content": other}], text)

    def _told(self, turns: Sequence[TemplateMessage]) -> str:
        return self._template.render(turns, tools=self._tools, prime=False, extras=self._extras)

    def _attempt(self, turns: Sequence[TemplateMessage]) -> str:
        """Tell ``turns``; nothing where the template does not take this beginning of a conversation alone."""
        try:
            return self._told(turns)
        except BadRequest:
            return ""


def _extras(request: GenerateRequest, thinking: ThinkingFormat | None) -> dict[str, object]:
    for name in _OURS:
        if name in request.template_args:
            raise BadRequest(
                f"template argument {name!r} is set by the server; leave it out",
                param=f"template_args.{name}",
            )
    extras: dict[str, object] = dict(request.template_args)
    if thinking is not None and thinking.switch is not None and request.thinking is not None:
        extras.setdefault(thinking.switch, request.thinking)
    return extras


def agreed(one: str, other: str) -> int:
    """Return for how many characters two texts are the same."""
    if other.startswith(one):
        return len(one)
    return len(commonprefix((one, other)))  # noqa: RUF071  # letter by letter is what is meant


def _marked(turn: TemplateMessage) -> TemplateMessage:
    """Mark the end of a message's words, ahead of white space that a template may trim."""
    match turn["content"]:
        case str(text) if text.strip():
            return {**turn, "content": _with_mark(text)}
        case [*parts, {"type": "text", "text": text}] if text.strip():
            return {**turn, "content": [*parts, {"type": "text", "text": _with_mark(text)}]}
        case _:
            return turn


def _with_mark(text: str) -> str:
    end = len(text.rstrip())
    return text[:end] + _HERE + text[end:]


def _goes_on(turns: Sequence[TemplateMessage]) -> bool:
    """Say whether the last message is an answer to be continued."""
    last = turns[-1]
    return last["role"] == "assistant" and "tool_calls" not in last and bool(last["content"])
