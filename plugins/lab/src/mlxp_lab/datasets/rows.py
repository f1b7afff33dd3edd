"""The one reader of rows: what fine-tuning, inspection and editing take for a row, and what they say of others.

A row is one of four forms, told by its keys: ``messages`` is a chat, ``prompt`` with ``chosen`` and ``rejected`` a
preference, ``prompt`` with ``completion`` a completion, ``text`` a text. Further keys are kept in the file and mean
nothing. All rows of a file have one form.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal, TypeVar

import msgspec
from msgspec import Raw, Struct

from mlxp_core.errors import BadRequest
from mlxp_core.types import Call, Message, Part, Result, Text, Thinking, ToolSpec
from mlxp_lab.datasets.wire import (
    TextPart,
    WireCall,
    WireChat,
    WireCompletion,
    WireMessage,
    WirePreference,
    WireText,
    WireTool,
)

Form = Literal["chat", "completion", "text", "preference"]

MOST_TOLD = 5
"""How many faulty lines an error names."""

_KEYS: tuple[tuple[Form, tuple[str, ...]], ...] = (
    ("chat", ("messages",)),
    ("preference", ("prompt", "chosen", "rejected")),
    ("completion", ("prompt", "completion")),
    ("text", ("text",)),
)

W = TypeVar("W", bound=Struct)


class ChatRow(Struct, frozen=True):
    """A conversation with something of the assistant's in it."""

    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()


class CompletionRow(Struct, frozen=True):
    """A text and how it goes on."""

    prompt: str
    completion: str


class TextRow(Struct, frozen=True):
    """A text."""

    text: str


class PreferenceRow(Struct, frozen=True):
    """A prompt, a good answer and a worse one."""

    prompt: tuple[Message, ...] | str
    chosen: str
    rejected: str
    tools: tuple[ToolSpec, ...] = ()


Row = ChatRow | CompletionRow | TextRow | PreferenceRow


class Line(Struct, frozen=True, kw_only=True):
    """One line of a file.

    Attributes:
        number: counted from 1, blank lines too.
        raw: the line without its end.
        row: what it says; ``None`` where ``fault`` tells what is wrong.
    """

    number: int
    raw: bytes
    row: Row | None = None
    fault: str | None = None


class BadRow(BadRequest):
    """A row is none of the four forms, or lacks what makes it one; ``param`` is the place in it."""

    code = "bad_row"


def form_of(row: Row) -> Form:
    """Return the form of a row."""
    match row:
        case ChatRow():
            return "chat"
        case CompletionRow():
            return "completion"
        case TextRow():
            return "text"
        case PreferenceRow():
            return "preference"


def read_row(line: bytes | str) -> Row:
    """Return the row of one line of JSON.

    Raises:
        BadRow: it is no JSON, or no row.
    """
    try:
        keys = msgspec.json.decode(line, type=dict[str, Raw])
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise BadRow(f"it is no JSON object: {error}") from error
    form = next((form for form, needed in _KEYS if all(key in keys for key in needed)), None)
    match form:
        case "chat":
            return _chat(_wire(line, WireChat))
        case "preference":
            return _preference(_wire(line, WirePreference))
        case "completion":
            return _completion(_wire(line, WireCompletion))
        case "text":
            return _text(_wire(line, WireText))
        case _:
            has = ", ".join(sorted(keys)) or "nothing"
            raise BadRow(
                f"it has {has}; a row has messages, or prompt and completion, or text, or prompt, chosen and rejected"
            )


def lines_of(path: Path) -> Iterator[Line]:
    """Yield the lines of a file that are not blank, each with its row or with what is wrong.

    Raises:
        BadRequest: the file cannot be read.
    """
    form: Form | None = None
    for number, raw in raw_lines(path):
        try:
            row = read_row(raw)
        except BadRow as error:
            yield Line(number=number, raw=raw, fault=error.message)
            continue
        form = form or form_of(row)
        if form_of(row) == form:
            yield Line(number=number, raw=raw, row=row)
        else:
            fault = f"it is a {form_of(row)} row; the first good row of the file is a {form} row"
            yield Line(number=number, raw=raw, fault=fault)


def rows_of(path: Path) -> list[tuple[int, Row]]:
    """Return the rows of a file, each with its line.

    Raises:
        BadRequest: the file cannot be read, has no rows, or has faulty lines; names the first ones.
    """
    good, faulty, count = [], [], 0
    for line in lines_of(path):
        if line.row is not None:
            good.append((line.number, line.row))
            continue
        count += 1
        if count <= MOST_TOLD:
            faulty.append(f"line {line.number}: {line.fault}")
    if count:
        more = f" (and {count - MOST_TOLD} more)" if count > MOST_TOLD else ""
        raise BadRequest(f"{path.name}, {'; '.join(faulty)}{more}")
    if not good:
        raise BadRequest(f"{path} has no rows")
    return good


def raw_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of a file that are not blank, without their ends, each with its number counted from 1.

    Raises:
        BadRequest: the file cannot be read.
    """
    try:
        with path.open("rb") as file:
            for number, raw in enumerate(file, start=1):
                line = (raw.removeprefix(b"\xef\xbb\xbf") if number == 1 else raw).strip()
                if line:
                    yield number, line
    except OSError as error:
        raise BadRequest(f"{path} cannot be read: {error.strerror or error}") from error


def _wire(line: bytes | str, shape: type[W]) -> W:
    try:
        return msgspec.json.decode(line, type=shape)
    except (msgspec.MsgspecError, RecursionError) as error:
        place = str(error).rpartition("`$.")[2].rstrip("`") if "`$." in str(error) else None
        raise BadRow(str(error), param=place) from error


def _chat(wire: WireChat) -> ChatRow:
    if not any(message.role == "assistant" for message in wire.messages):
        raise BadRow("no message is the assistant's, so there is nothing to learn", param="messages")
    return ChatRow(_messages(wire.messages, "messages"), _tools(wire.tools))


def _preference(wire: WirePreference) -> PreferenceRow:
    for name, answer in (("chosen", wire.chosen), ("rejected", wire.rejected)):
        if not answer.strip():
            raise BadRow(f"{name} is empty", param=name)
    if wire.chosen == wire.rejected:
        raise BadRow("chosen and rejected are the same", param="rejected")
    if isinstance(wire.prompt, str):
        return PreferenceRow(wire.prompt, wire.chosen, wire.rejected, _tools(wire.tools))
    if not wire.prompt or wire.prompt[-1].role == "assistant":
        raise BadRow("prompt must end with somebody else's message than the assistant's", param="prompt")
    return PreferenceRow(_messages(wire.prompt, "prompt"), wire.chosen, wire.rejected, _tools(wire.tools))


def _completion(wire: WireCompletion) -> CompletionRow:
    if not wire.completion.strip():
        raise BadRow("completion is empty", param="completion")
    return CompletionRow(wire.prompt, wire.completion)


def _text(wire: WireText) -> TextRow:
    if not wire.text.strip():
        raise BadRow("text is empty", param="text")
    return TextRow(wire.text)


def _messages(told: Sequence[WireMessage], name: str) -> tuple[Message, ...]:
    return tuple(_message(each, f"{name}[{place}]") for place, each in enumerate(told))


def _message(told: WireMessage, place: str) -> Message:
    words = _words(told.content)
    if told.role == "tool":
        return Message("tool", (Result(told.tool_call_id or "", (Text(words),)),), told.name)
    if told.role != "assistant":
        if not words:
            raise BadRow(f"{place} has no content", param=place)
        return Message("system" if told.role == "developer" else told.role, (Text(words),), told.name)
    parts: list[Part] = [Thinking(told.reasoning_content)] if told.reasoning_content else []
    if words:
        parts.append(Text(words))
    parts += [
        _call(call, f"{place}.tool_calls[{number}]") for number, call in enumerate(told.tool_calls or ())
    ]
    if not words and not told.tool_calls:
        raise BadRow(f"{place}, the assistant's, has neither content nor tool_calls", param=place)
    return Message("assistant", tuple(parts), told.name)


def _words(content: str | Sequence[TextPart] | None) -> str:
    if content is None or isinstance(content, str):
        return content or ""
    return "".join(part.text for part in content)


def _call(told: WireCall, place: str) -> Call:
    arguments = told.function.arguments
    if isinstance(arguments, dict):
        return Call(told.id, told.function.name, msgspec.json.encode(arguments).decode())
    try:
        msgspec.json.decode(arguments or "{}", type=dict[str, Raw])
    except (msgspec.MsgspecError, RecursionError) as error:
        raise BadRow(f"{place}: the arguments are no JSON object", param=place) from error
    return Call(told.id, told.function.name, arguments or "{}")


def _tools(told: Sequence[WireTool] | None) -> tuple[ToolSpec, ...]:
    return tuple(
        ToolSpec(
            each.function.name,
            each.function.description,
            each.function.parameters,
            bool(each.function.strict),
        )
        for each in told or ()
    )
