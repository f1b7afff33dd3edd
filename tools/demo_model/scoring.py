"""Whether an answer is right, and whether it is well formed: judged by the text alone."""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from demo_model.conversation import Conversation, Reply, Tool, plain

_CALL = re.compile(r"<tool_call>\n<function=([^>\n]+)>\n(.*?)</function>\n</tool_call>", re.DOTALL)
_PARAMETER = re.compile(r"<parameter=([^>\n]+)>\n(.*?)\n</parameter>\n", re.DOTALL)


class Score(NamedTuple):
    """What is said of an answer."""

    right: bool
    formed: bool


class Answer(NamedTuple):
    """An answer taken apart: the thought, the words, the calls with their arguments."""

    thought: str
    text: str
    calls: tuple[tuple[str, dict[str, Any]], ...]


def score(conversation: Conversation, said: str, *, ended: bool) -> Score:
    """Judge an answer by its text.

    Args:
        conversation: the question; its last turn is the right answer.
        said: the whole answer, markers included, without the token that ends the turn.
        ended: whether the model ended its turn by itself.
    """
    answer = parse(said, thinking=conversation.thinking)
    if answer is not None:
        answer = answer._replace(calls=_read(answer.calls, conversation.tools))
    return judge(conversation, answer, ended=ended)


def judge(conversation: Conversation, answer: Answer | None, *, ended: bool) -> Score:
    """Judge an answer that was taken apart; ``None`` = it breaks its own format."""
    wanted = conversation.turns[-1]
    assert isinstance(wanted, Reply)  # noqa: S101  # how questions are made
    if answer is None or not ended:
        return Score(right=False, formed=False)
    formed = wanted.skill != "json" or _is_object(answer.text)
    return Score(_right(wanted, answer), formed)


def parse(said: str, *, thinking: bool) -> Answer | None:
    """Take an answer apart; ``None`` where it breaks its own format."""
    thought = ""
    if thinking:
        thought, mark, said = said.partition("\n</think>\n\n")
        if not mark:
            return None
    calls = []
    for name, body in _CALL.findall(said):
        if _PARAMETER.sub("", body).strip():
            return None
        calls.append((name, dict(_PARAMETER.findall(body))))
    text = _CALL.sub("", said).strip("\n")
    if any(
        mark in text for mark in ("<think>", "</think>", "<tool_call>", "</tool_call>", "<function=", "<|im_")
    ):
        return None
    return Answer(thought, text, tuple(calls))


def typed(text: str, name: str, tool: Tool) -> Any:
    """Read the raw text of an argument by the schema of its tool."""
    kinds = {each.name: each.kind for each in tool.parameters}
    if kinds.get(name, "string") == "string":
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text


def _read(
    calls: tuple[tuple[str, dict[str, Any]], ...], tools: tuple[Tool, ...]
) -> tuple[tuple[str, dict[str, Any]], ...]:
    known = {tool.name: tool for tool in tools}
    return tuple(
        (
            name,
            {key: typed(value, key, known[name]) for key, value in arguments.items()}
            if name in known
            else {},
        )
        for name, arguments in calls
    )


def _right(wanted: Reply, answer: Answer) -> bool:
    if list(answer.calls) != [(call.name, call.arguments) for call in wanted.calls]:
        return False
    if wanted.exact:
        return answer.text == plain(wanted.text)
    if wanted.skill == "no_call" or not wanted.keys:
        return not wanted.calls or answer.text == plain(wanted.text)
    return all(_holds(answer.text, key) for key in wanted.keys)


def _holds(text: str, key: str) -> bool:
    """Say whether a text holds a key as whole words."""
    return re.search(rf"(?<!\w){re.escape(key)}(?!\w)", text, re.IGNORECASE) is not None


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False
