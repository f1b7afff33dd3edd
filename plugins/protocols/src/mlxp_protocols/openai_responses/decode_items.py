"""Input items -> neutral messages.

What one turn of the model said comes as several items (reasoning, words, calls); they become one message again. Items
of kinds that carry nothing for a model are passed over, and reported.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import get_args

import msgspec
from msgspec import Raw, Struct, inspect

from mlxp_core.errors import BadRequest
from mlxp_core.types import Call, Message, Part, Result, Text, Thinking
from mlxp_protocols.arguments import json_text
from mlxp_protocols.body import read_value
from mlxp_protocols.manifest import unknown_fields
from mlxp_protocols.openai_responses import decode_content as content
from mlxp_protocols.openai_responses import wire_items as wire
from mlxp_protocols.openai_responses.offers import CUSTOM_INPUT, offered_name
from mlxp_protocols.openai_responses.wire import ABSENT

_SHAPES: Mapping[str, type[Struct]] = {
    str(shape.__struct_config__.tag): shape for shape in (*get_args(wire.Item), wire.ItemReference)
}
KINDS = frozenset(_SHAPES)
"""What is read; every other kind is passed over."""

_INFO = {kind: inspect.type_info(shape) for kind, shape in _SHAPES.items()}


class Read(Struct, frozen=True):
    """An item as it was read.

    Attributes:
        item: what it says; ``None`` if it is passed over.
        unknown: what has no effect: paths of fields, or the item itself.
    """

    item: wire.Item | wire.ItemReference | None
    unknown: tuple[str, ...] = ()


def read_item(raw: Raw, place: str) -> Read:
    """Return one item.

    Args:
        raw: its JSON.
        place: its path in the body.

    Raises:
        BadRequest: it is no object, does not say what it is, or lacks what its kind needs.
    """
    match msgspec.json.decode(raw):
        case dict(given):
            kind = kind_of(given, place)
        case _:
            raise BadRequest(f"{place}: expected an object, such as a message", param=place)
    if kind not in KINDS:
        return Read(None, (f"{place} ({kind})",))
    item = read_value(raw, _SHAPES[kind], place)
    unknown = unknown_fields(given, _INFO[kind], ())
    return Read(item, tuple(f"input[].{path}" for path in unknown))  # type: ignore[arg-type]  # one of _SHAPES


def kind_of(given: Mapping[str, object], place: str) -> str:
    """Return the kind of an item: messages and references need not say it.

    Raises:
        BadRequest: it does not say what it is.
    """
    match given.get("type"):
        case str(kind):
            return kind
        case None if "role" in given:
            return "message"
        case None if "id" in given:
            return "item_reference"
        case _:
            where = f"{place}.type"
            raise BadRequest(f"{where}: is missing, or no string; name the kind of the item", param=where)


def converse(items: Iterable[tuple[wire.Item, str]]) -> list[Message]:
    """Return the conversation that items make.

    Args:
        items: each with its path, for errors.

    Raises:
        BadRequest: a part of a kind that we refuse by name, or a damaged image.
    """
    messages: list[Message] = []
    for item, place in items:
        for message in _turn(item, place):
            last = messages[-1] if messages else None
            if last is not None and last.role == message.role == "assistant":
                messages[-1] = Message("assistant", (*last.parts, *message.parts))
            else:
                messages.append(message)
    return messages


def _turn(item: wire.Item, place: str) -> Sequence[Message]:
    match item:
        case wire.Message():
            return [_message(item, place)]
        case wire.Reasoning():
            thought = _thought(item)
            return [_said(Thinking(thought))] if thought else []
        case wire.McpCall():
            return _remote(item, place)
        case (
            wire.FunctionCall()
            | wire.CustomToolCall()
            | wire.LocalShellCall()
            | wire.ShellCall()
            | wire.ApplyPatchCall()
            | wire.ComputerCall()
        ):
            return [_said(_call(item, place))]
        case _:
            return [Message("tool", (_result(item, place),))]


def _message(message: wire.Message, place: str) -> Message:
    match message.role:
        case "user":
            return Message("user", content.shown(message.content, place))
        case "assistant":
            return Message("assistant", content.words(message.content, place))
        case "system" | "developer":
            return Message("system", content.words(message.content, place))


def _said(part: Part) -> Message:
    return Message("assistant", (part,))


def _thought(item: wire.Reasoning) -> str:
    """Return the reasoning itself where it is told, else its summary."""
    return "\n\n".join(part.text for part in item.content or item.summary or ())


def _call(
    item: wire.FunctionCall
    | wire.CustomToolCall
    | wire.LocalShellCall
    | wire.ShellCall
    | wire.ApplyPatchCall
    | wire.ComputerCall,
    place: str,
) -> Call:
    """Return a call; those of built-in tools become calls of a function of the tool's name."""
    call_id = item.call_id or ""
    match item:
        case wire.FunctionCall(name=name, namespace=namespace, arguments=arguments):
            return Call(call_id, offered_name(name, namespace), json_text(arguments, f"{place}.arguments"))
        case wire.CustomToolCall(name=name, namespace=namespace, input=text):
            return Call(call_id, offered_name(name, namespace), _json({CUSTOM_INPUT: text}))
        case wire.LocalShellCall(action=action):
            return Call(call_id, "local_shell", json_text(action, f"{place}.action"))
        case wire.ShellCall(action=action):
            return Call(call_id, "shell", json_text(action, f"{place}.action"))
        case wire.ApplyPatchCall(operation=operation):
            return Call(call_id, "apply_patch", json_text(operation, f"{place}.operation"))
        case wire.ComputerCall(action=action, actions=actions):
            done = action if actions == ABSENT else Raw(b'{"actions":' + bytes(actions) + b"}")
            return Call(call_id, "computer", json_text(done, f"{place}.action"))


def _result(
    item: wire.FunctionCallOutput
    | wire.CustomToolCallOutput
    | wire.LocalShellCallOutput
    | wire.ShellCallOutput
    | wire.ApplyPatchCallOutput
    | wire.ComputerCallOutput,
    place: str,
) -> Result:
    call_id, where = item.call_id or "", f"{place}.output"
    match item:
        case wire.LocalShellCallOutput(output=output, id=named):
            return Result(call_id or named, content.result(output, where))
        case wire.ComputerCallOutput(output=seen):
            return Result(call_id, content.screenshot(seen, where))
        case wire.ApplyPatchCallOutput(output=output, status=status):
            told = content.result(output, where) or (Text(status),)
            return Result(call_id, told, failed=status == "failed")
        case _:
            return Result(call_id, content.result(item.output, where))


def _remote(item: wire.McpCall, place: str) -> Sequence[Message]:
    """Return a remote call and, where it came back, its answer."""
    called = _said(Call(item.id, item.name, json_text(item.arguments, f"{place}.arguments")))
    failed = item.error != ABSENT
    if failed:
        parts = content.result(item.error, f"{place}.error")
        return [called, Message("tool", (Result(item.id, parts, failed=True),))]
    if item.output is None:
        return [called]
    return [called, Message("tool", (Result(item.id, (Text(item.output),)),))]


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()
