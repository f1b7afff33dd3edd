"""Messages and tools as templates read them: the dictionaries of Hugging Face's chat templates."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from mlxp_core.prompting.schema import typed_schema
from mlxp_core.prompting.traits import TemplateMessage, TemplateTool, TemplateTraits
from mlxp_core.types import Call, ImageBytes, ImageUrl, Message, Part, Result, Text, Thinking, ToolSpec


def write_messages(messages: Sequence[Message], traits: TemplateTraits) -> list[TemplateMessage]:
    """Write normalised messages as templates read them."""
    names: dict[str, str] = {}
    out: list[TemplateMessage] = []
    for message in messages:
        match message.role, message.parts:
            case "assistant", parts:
                names.update({part.id: part.name for part in parts if isinstance(part, Call)})
                out.append(_write_answer(parts, traits))
            case _, (Result() as result,):
                out.append(_write_result(result, names.get(result.call_id, message.name or "unknown")))
            case role, parts:
                named = {} if message.name is None else {"name": message.name}
                out.append({"role": role, "content": _content(parts), **named})
    return out


def images_of(messages: Sequence[Message]) -> tuple[ImageBytes, ...]:
    """Return all images in the order in which ``write_messages`` writes them."""
    parts = [part for message in messages for part in message.parts]
    inner = [piece for part in parts for piece in (part.parts if isinstance(part, Result) else (part,))]
    return tuple(piece for piece in inner if isinstance(piece, ImageBytes))


def write_tool(tool: ToolSpec) -> TemplateTool:
    """Write a tool as templates read it, its schema typed."""
    described = {"description": tool.description} if tool.description else {}
    function = {"name": tool.name, **described, "parameters": typed_schema(tool.parameters)}
    return {"type": "function", "function": function}


def _write_answer(parts: Sequence[Part], traits: TemplateTraits) -> TemplateMessage:
    thoughts = "\n\n".join(part.text for part in parts if isinstance(part, Thinking) and part.text)
    calls = [_write_call(part, traits) for part in parts if isinstance(part, Call)]
    reasoned = {"reasoning_content": thoughts, "reasoning": thoughts} if thoughts else {}
    called = {"tool_calls": calls} if calls else {}
    return {"role": "assistant", "content": _words(parts), **reasoned, **called}


def _write_call(call: Call, traits: TemplateTraits) -> dict[str, Any]:
    arguments: Any = read_arguments(call.arguments)
    if isinstance(arguments, str) and not traits.text_arguments:
        arguments = {"arguments": arguments}  # the template takes objects only; nothing of the text is lost
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}}


def read_arguments(text: str) -> dict[str, Any] | str:
    """Return the arguments of an earlier call as an object; the text itself when it is none."""
    if not text.strip():
        return {}
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return value if isinstance(value, dict) else text


def _write_result(result: Result, name: str) -> TemplateMessage:
    plain = not result.failed or _words(result.parts).lower().startswith("error")
    content = _content(result.parts if plain else (Text("Error: "), *result.parts))
    return {"role": "tool", "tool_call_id": result.call_id, "name": name, "content": content}


def _content(parts: Sequence[Part]) -> str | list[dict[str, str]]:
    """Return plain text where there is nothing but text, else the parts in order."""
    if not any(isinstance(part, ImageBytes | ImageUrl) for part in parts):
        return _words(parts)
    out: list[dict[str, str]] = []
    for part in parts:
        match part:
            case Text(text) if text:
                out.append({"type": "text", "text": text})
            case ImageBytes() | ImageUrl():
                out.append({"type": "image"})
            case _:
                continue
    return out


def _words(parts: Sequence[Part]) -> str:
    return "".join(part.text for part in parts if isinstance(part, Text))
