"""What makes a row less than it could be, though it can be learned from."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from mlxp_core.types import Call, Message, Result, Text
from mlxp_lab.datasets.rows import ChatRow, CompletionRow, PreferenceRow, Row


def doubts(row: Row) -> Iterator[str]:
    """Yield what a reader of the row should know."""
    match row:
        case ChatRow(messages=messages):
            yield from _order(messages)
            yield from _calls(row)
            if messages[-1].role != "assistant":
                yield "nothing is learned from what stands behind the assistant's last message"
        case PreferenceRow(prompt=tuple() as messages):
            yield from _order(messages)
        case CompletionRow(prompt="") | PreferenceRow(prompt=""):
            yield "the prompt is empty"
        case _:
            pass


def answers(row: Row) -> list[str]:
    """Return the texts that are learned from a row."""
    match row:
        case ChatRow(messages=messages):
            said = (message for message in messages if message.role == "assistant")
            return [words for message in said if (words := words_of(message))]
        case CompletionRow(completion=text) | PreferenceRow(chosen=text):
            return [text]
        case _:
            return [row.text]


def words_of(message: Message) -> str:
    """Return the words of a message, without thinking and calls."""
    return "".join(part.text for part in message.parts if isinstance(part, Text))


def whole(row: Row) -> str:
    """Return everything that a row says, in one text, to compare rows by."""
    match row:
        case ChatRow(messages=messages):
            return "\n".join(_said(message) for message in messages)
        case CompletionRow(prompt, completion):
            return f"{prompt}\n{completion}"
        case PreferenceRow(prompt, chosen, rejected):
            asked = prompt if isinstance(prompt, str) else "\n".join(_said(message) for message in prompt)
            return f"{asked}\n{chosen}\n{rejected}"
        case _:
            return row.text


def _said(message: Message) -> str:
    words = [words_of(message)]
    for part in message.parts:
        match part:
            case Call(name=name, arguments=arguments):
                words.append(f"{name}({arguments})")
            case Result(parts=told):
                words += [each.text for each in told if isinstance(each, Text)]
            case _:
                pass
    return " ".join(word for word in words if word)


def _order(messages: tuple[Message, ...]) -> Iterator[str]:
    roles = [message.role for message in messages]
    if "system" in roles[1:]:
        yield "a system message that is not the first is refused by many templates"
    talk = [role for role in roles if role != "system"]
    if talk and talk[0] != "user":
        yield f"the conversation begins with a message of the {talk[0]}; many templates refuse that"
    for first, second in itertools.pairwise(talk):
        if first == second and first in {"user", "assistant"}:
            yield f"two messages of the {first} follow each other; many templates refuse that"
            return


def _calls(row: ChatRow) -> Iterator[str]:
    calls = [part for message in row.messages for part in message.parts if isinstance(part, Call)]
    known = {tool.name for tool in row.tools}
    unknown = sorted({call.name for call in calls} - known)
    if unknown:
        yield f"tools that are called are not among the row's tools: {', '.join(unknown)}"
    if not calls and any(message.role == "tool" for message in row.messages):
        yield "a tool answers, but nobody called one"
