"""Conversations as values: what is said, which tools are there, and what an answer must hold to be right.

A text may hold spelled parts, between two private characters: the model reads and writes those letter by letter,
one token each, because they are answers about letters.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

SPELL_BEGIN, SPELL_END = "\ue000", "\ue001"

Kind = Literal["string", "integer", "number", "boolean"]
Skill = Literal[
    "arithmetic", "facts", "strings", "tools", "no_call", "result", "memory", "system", "json", "chat"
]
"""What an exchange is about; the evaluation counts by it."""


def spelled(text: str) -> str:
    """Mark a text as spelled."""
    return f"{SPELL_BEGIN}{text}{SPELL_END}" if text else ""


def plain(text: str) -> str:
    """Return a text without marks."""
    return text.replace(SPELL_BEGIN, "").replace(SPELL_END, "")


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a tool; with ``options`` it is an enumeration of strings."""

    name: str
    kind: Kind = "string"
    description: str = ""
    options: tuple[str, ...] = ()
    required: bool = True

    def schema(self) -> dict[str, Any]:
        """Return its JSON schema."""
        described = {"description": self.description} if self.description else {}
        listed = {"enum": list(self.options)} if self.options else {}
        return {"type": self.kind, **described, **listed}


@dataclass(frozen=True, slots=True)
class Tool:
    """A function that the model may call."""

    name: str
    description: str
    parameters: tuple[Parameter, ...]

    def spec(self) -> dict[str, Any]:
        """Return it as OpenAI's clients send it."""
        parameters: dict[str, Any] = {
            "type": "object",
            "properties": {each.name: each.schema() for each in self.parameters},
            "required": [each.name for each in self.parameters if each.required],
        }
        described = {"description": self.description} if self.description else {}
        return {"type": "function", "function": {"name": self.name, **described, "parameters": parameters}}


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a tool."""

    name: str
    arguments: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Reply:
    """What the model says.

    Attributes:
        text: the answer; may hold spelled parts.
        thought: said before it when thinking is on; may hold spelled parts.
        calls: made after the text.
        keys: what a right answer must hold, word for word; all of them.
        skill: what the exchange is about.
        exact: a right answer is the text and nothing else.
    """

    text: str = ""
    thought: str = ""
    calls: tuple[Call, ...] = ()
    keys: tuple[str, ...] = ()
    skill: Skill = "chat"
    exact: bool = False


@dataclass(frozen=True, slots=True)
class Said:
    """What somebody else says: the user, or a tool with a result."""

    role: Literal["user", "tool"]
    text: str


Turn = Said | Reply


@dataclass(frozen=True, slots=True)
class Conversation:
    """A whole conversation.

    Attributes:
        turns: what is said, in order.
        system: the instructions.
        tools: that may be called.
        thinking: whether the model thinks before what it says after the last message of the user.
        skill: what the evaluation counts it as.
        loose: earlier replies are there for the context, and are not learned from.
    """

    turns: tuple[Turn, ...]
    system: str = ""
    tools: tuple[Tool, ...] = ()
    thinking: bool = False
    skill: Skill = "chat"
    loose: bool = False
    notes: dict[str, Any] = field(default_factory=dict)

    def last_question(self) -> int:
        """Return the place of the last message of the user."""
        return max(
            place for place, turn in enumerate(self.turns) if isinstance(turn, Said) and turn.role == "user"
        )
