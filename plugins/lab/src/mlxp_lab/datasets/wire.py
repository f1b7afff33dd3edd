"""Rows as they stand in a file: one JSON object a line."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct, field


class TextPart(Struct, frozen=True, kw_only=True):
    """A part of a message's content; only words can be learned."""

    type: Literal["text"]
    text: str


class FunctionCall(Struct, frozen=True, kw_only=True):
    """What is called; arguments as JSON text or as an object."""

    name: str
    arguments: str | dict[str, Any] = ""


class WireCall(Struct, frozen=True, kw_only=True):
    """A tool call of the assistant."""

    function: FunctionCall
    id: str = ""
    type: Literal["function"] = "function"


class WireMessage(Struct, frozen=True, kw_only=True):
    """One message, as chat APIs have it."""

    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: str | list[TextPart] | None = None
    reasoning_content: str | None = None
    tool_calls: list[WireCall] | None = None
    tool_call_id: str | None = None
    name: str | None = None


class WireFunction(Struct, frozen=True, kw_only=True):
    """What a tool is."""

    name: str
    description: str = ""
    parameters: dict[str, Any] = field(default_factory=dict)
    strict: bool | None = None


class WireTool(Struct, frozen=True, kw_only=True):
    """A tool that the assistant may call."""

    function: WireFunction
    type: Literal["function"] = "function"


class WireChat(Struct, frozen=True, kw_only=True):
    """A conversation."""

    messages: list[WireMessage]
    tools: list[WireTool] | None = None


class WireCompletion(Struct, frozen=True, kw_only=True):
    """A text and how it goes on."""

    prompt: str
    completion: str


class WireText(Struct, frozen=True, kw_only=True):
    """A text."""

    text: str


class WirePreference(Struct, frozen=True, kw_only=True):
    """A prompt, a good answer and a worse one."""

    prompt: str | list[WireMessage]
    chosen: str
    rejected: str
    tools: list[WireTool] | None = None
