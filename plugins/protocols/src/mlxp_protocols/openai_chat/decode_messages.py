"""Messages of a chat request -> neutral messages; order and spelling are kept, repairs are the prompt room's."""

from collections.abc import Sequence
from typing import Literal

import msgspec
from msgspec import Raw

from mlxp_core.errors import BadRequest
from mlxp_core.types import Call, ImageBytes, ImageUrl, Message, Part, Result, Text, Thinking
from mlxp_protocols import images
from mlxp_protocols.openai_chat import wire

_TEXT_ONLY = "send text, or move it to a user message"
Shown = Text | ImageBytes | ImageUrl


def read_messages(messages: Sequence[wire.Message]) -> tuple[Message, ...]:
    """Return the conversation.

    Raises:
        BadRequest: a part or a message of a kind that we refuse by name, or a damaged image.
    """
    return tuple(_message(message, f"messages[{at}]") for at, message in enumerate(messages))


def _message(message: wire.Message, place: str) -> Message:
    match message:
        case wire.SystemMessage() | wire.DeveloperMessage():
            return Message("system", _words(message.content, place), message.name)
        case wire.UserMessage():
            return Message("user", _shown(message.content, place), message.name)
        case wire.AssistantMessage():
            return Message("assistant", _answer(message, place), message.name)
        case wire.ToolMessage():
            parts = (Result(message.tool_call_id, _shown(message.content, place)),)
            return Message("tool", parts, message.name)
        case wire.FunctionMessage():
            raise BadRequest(
                f"{place}.role: 'function' is retired; use 'tool' with tool_call_id",
                param=f"{place}.role",
            )


def _answer(message: wire.AssistantMessage, place: str) -> tuple[Part, ...]:
    """Return thinking, words and calls of an earlier answer, in the order they were said."""
    if message.function_call != wire.ABSENT:
        raise BadRequest(f"{place}.function_call is retired; use tool_calls", param=f"{place}.function_call")
    if message.audio != wire.ABSENT:
        raise BadRequest(f"{place}.audio is not supported; send the words instead", param=f"{place}.audio")
    parts: list[Part] = []
    if thought := message.reasoning_content or message.reasoning:
        parts.append(Thinking(thought))
    parts.extend(_words(message.content, place))
    if message.refusal:
        parts.append(Text(message.refusal))
    for at, call in enumerate(message.tool_calls or ()):
        parts.append(_call(call, f"{place}.tool_calls[{at}]"))
    return tuple(parts)


def _call(call: wire.PastCall, place: str) -> Call:
    if call.function is None or call.type not in {None, "function"}:
        raise BadRequest(f"{place}: only calls of type function are supported", param=place)
    return Call(call.id or "", call.function.name, _json_text(call.function.arguments, place))


def _json_text(arguments: Raw, place: str) -> str:
    """Return the arguments as JSON text: out of its string, or as the object was spelled; empty means no arguments."""
    spelled = bytes(arguments)
    match spelled[:1]:
        case b'"':
            return msgspec.json.decode(spelled, type=str).strip() or "{}"
        case b"{":
            return spelled.decode()
        case b"n":
            return "{}"
        case _:
            where = f"{place}.function.arguments"
            raise BadRequest(f"{where}: expected a string of JSON", param=where)


def _words(content: wire.Content, place: str) -> tuple[Text, ...]:
    """Return content that may hold no images."""
    words: list[Text] = []
    for at, part in enumerate(_shown(content, place)):
        match part:
            case Text():
                words.append(part)
            case ImageBytes() | ImageUrl():
                where = f"{place}.content[{at}]"
                raise BadRequest(f"{where}: images are not allowed in this role; {_TEXT_ONLY}", param=where)
    return tuple(words)


def _shown(content: wire.Content, place: str) -> tuple[Shown, ...]:
    match content:
        case None:
            return ()
        case str():
            return (Text(content),)
        case list():
            return tuple(_part(part, f"{place}.content[{at}]") for at, part in enumerate(content))


def _part(part: wire.Part, place: str) -> Shown:
    match part:
        case wire.TextPart(text=text) | wire.RefusalPart(refusal=text):
            return Text(text)
        case wire.ImageUrlPart(image_url=image):
            return images.from_url(image if isinstance(image, str) else image.url, f"{place}.image_url")
        case wire.ImagePart(data=data):
            return images.from_base64(data, "", f"{place}.data")
        case wire.AudioPart():
            raise _refused_part("input_audio", place)
        case wire.FilePart():
            raise _refused_part("file", place)


def _refused_part(kind: Literal["input_audio", "file"], place: str) -> BadRequest:
    return BadRequest(f"{place}: content of type {kind} is not supported; send text or images", param=place)
