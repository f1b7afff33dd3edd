"""A conversation as the model reads it, in pieces: what it is told, and what it has to say itself.

This is what ``chat_template.jinja`` renders; a test holds the two together. It is written twice because training needs
to know which words are the model's, and a million conversations a minute.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from demo_model.conversation import Call, Conversation, Parameter, Reply, Said, Tool


class Piece(NamedTuple):
    """A text, and whether the model has to say it."""

    text: str
    own: bool


def pieces(conversation: Conversation) -> Iterator[Piece]:
    """Return the whole conversation."""
    head = system(conversation)
    question = conversation.last_question()
    previous = ""
    for place, turn in enumerate(conversation.turns):
        match turn:
            case Said("user", text):
                head += f"<|im_start|>user\n{text.strip()}<|im_end|>\n"
            case Said("tool", text):
                following = conversation.turns[place + 1 : place + 2]
                last = not (following and isinstance(following[0], Said) and following[0].role == "tool")
                head += "" if previous == "tool" else "<|im_start|>user"
                head += f"\n<tool_response>\n{text.strip()}\n</tool_response>" + (
                    "<|im_end|>\n" if last else ""
                )
            case Reply() as reply:
                thought = reply.thought if conversation.thinking and place > question else ""
                head += opening(thinking=bool(thought))
                yield Piece(head, own=False)
                yield Piece(
                    (f"{thought}\n</think>\n\n" if thought else "") + said(reply) + "<|im_end|>", own=True
                )
                head = "\n"
        previous = turn.role if isinstance(turn, Said) else ""
    yield Piece(head, own=False)


def opening(*, thinking: bool) -> str:
    """Return what leads into a reply."""
    return "<|im_start|>assistant\n<think>\n" + ("" if thinking else "\n</think>\n\n")


def prompt(conversation: Conversation) -> str:
    """Return everything up to the last reply."""
    *before, _, _ = pieces(conversation)
    return "".join(piece.text for piece in before)


def system(conversation: Conversation) -> str:
    """Return the instructions and the tools."""
    if not conversation.system and not conversation.tools:
        return ""
    tools = "".join(f"{card(tool)}\n" for tool in conversation.tools)
    return (
        f"<|im_start|>system\n{'Tools:' + chr(10) + tools if tools else ''}{conversation.system}<|im_end|>\n"
    )


def card(tool: Tool) -> str:
    """Return a tool."""
    about = f"{tool.description}\n" if tool.description else ""
    return f"<function={tool.name}>\n{about}{''.join(map(slot, tool.parameters))}</function>"


def slot(parameter: Parameter) -> str:
    """Return a parameter of a tool."""
    kind = ", ".join(parameter.options) or parameter.kind
    needed = ", required" if parameter.required else ""
    about = f": {parameter.description}" if parameter.description else ""
    return f"<parameter={parameter.name}> {kind}{needed}{about}\n"


def said(reply: Reply) -> str:
    """Return a reply without its thought."""
    calls = "\n".join(map(written, reply.calls))
    return f"{reply.text}\n{calls}" if reply.text and calls else reply.text + calls


def written(call: Call) -> str:
    """Return a call."""
    arguments = "".join(
        f"<parameter={key}>\n{value(each)}\n</parameter>\n" for key, each in call.arguments.items()
    )
    return f"<tool_call>\n<function={call.name}>\n{arguments}</function>\n</tool_call>"


def value(argument: Any) -> str:
    """Return the value of an argument."""
    return argument if isinstance(argument, str) else json.dumps(argument)
