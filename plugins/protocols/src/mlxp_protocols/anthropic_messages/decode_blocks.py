"""Content blocks -> neutral parts, in their order; what we cannot show a model is refused by name."""

from collections.abc import Iterable, Sequence
from typing import TypeVar

import msgspec
from msgspec import Raw

from mlxp_core.errors import BadRequest
from mlxp_core.types import Call, ImageBytes, ImageUrl, Part, Result, Text, Thinking
from mlxp_protocols import images
from mlxp_protocols.anthropic_messages import wire
from mlxp_protocols.anthropic_messages import wire_blocks as blocks
from mlxp_protocols.anthropic_messages import wire_elsewhere as elsewhere

Shown = Text | ImageBytes | ImageUrl
P = TypeVar("P", bound=Part)

LINE = "\n"
"""Stands between two texts that follow each other and were not one text before."""


def read_block(block: wire.Block, place: str) -> tuple[Part, ...]:
    """Return what a block says; nothing for what only its author can read.

    Raises:
        BadRequest: a kind that we refuse by name, or a damaged part of it.
    """
    parts: tuple[Part, ...] = ()
    match block:
        case blocks.ThinkingBlock(thinking=thinking, signature=signature):
            parts = (Thinking(thinking, signature or None),) if thinking else ()
        case blocks.RedactedThinkingBlock() | elsewhere.McpToolListingBlock() | elsewhere.FallbackBlock():
            parts = ()
        case blocks.ToolUseBlock() | elsewhere.ServerToolUseBlock() | elsewhere.McpToolUseBlock():
            parts = (Call(block.id, block.name, _arguments(block.input, place)),)
        case blocks.ToolResultBlock():
            parts = (_result(block, place),)
        case elsewhere.McpToolResultBlock(tool_use_id=call_id, content=content, is_error=failed):
            parts = (Result(call_id, _told(content), bool(failed)),)
        case elsewhere.CompactionBlock(content=summary):
            parts = (Text(summary),) if summary else ()
        case elsewhere.ContainerUploadBlock() | elsewhere.ToolAdditionBlock() | elsewhere.ToolRemovalBlock():
            raise _refused(block, place)
        case blocks.TextBlock() | blocks.ImageBlock() | blocks.DocumentBlock() | blocks.SearchResultBlock():
            parts = _shown(block, place)
        case _:
            parts = (Result(block.tool_use_id, _told(block.content)),)
    return parts


def join_texts(parts: Iterable[P], gap: str) -> tuple[P | Text, ...]:
    """Return the parts with texts that follow each other made one, ``gap`` between them; empty texts say nothing."""
    out: list[P | Text] = []
    for part in parts:
        match part, out[-1] if out else None:
            case Text(text=""), _:
                continue
            case Text(text=more), Text(text=said):
                out[-1] = Text(said + gap + more)
            case _:
                out.append(part)
    return tuple(out)


def _shown(block: blocks.ShownInResult, place: str) -> tuple[Shown, ...]:
    match block:
        case blocks.TextBlock(text=text):
            return (Text(text),)
        case blocks.ImageBlock(source=source):
            return (_image(source, f"{place}.source"),)
        case blocks.DocumentBlock():
            return _document(block, place)
        case blocks.SearchResultBlock(title=title, source=source, content=content):
            return (Text(LINE.join([title, source, *(words.text for words in content)])),)
        case blocks.ToolReferenceBlock(tool_name=name):
            return (Text(name),)
        case blocks.BrowserStateBlock(tabs=tabs, state_changes=changes):
            told = [bytes(raw).decode() for raw in (tabs, changes) if raw != blocks.ABSENT]
            return (Text(LINE.join(told)),)


def _image(
    source: blocks.Base64Source | blocks.UrlSource | blocks.FileSource, place: str
) -> ImageBytes | ImageUrl:
    match source:
        case blocks.Base64Source(data=data, media_type=media_type):
            return images.from_base64(data, media_type or "", f"{place}.data")
        case blocks.UrlSource(url=url):
            return images.from_url(url, f"{place}.url")
        case blocks.FileSource():
            raise _no_file(place)


def _document(block: blocks.DocumentBlock, place: str) -> tuple[Shown, ...]:
    """Return title, context and content, a line each where they are text."""
    place = f"{place}.source"
    match block.source:
        case blocks.TextSource(data=data):
            content: tuple[Shown, ...] = (Text(data),)
        case blocks.ContentSource(content=str(text)):
            content = (Text(text),)
        case blocks.ContentSource(content=list(inner)):
            content = _all_shown(inner, f"{place}.content")
        case blocks.Base64Source() | blocks.UrlSource():
            raise BadRequest(
                f"{place}: PDF documents are not read here; send the text of the document, as a source of type text",
                param=place,
            )
        case blocks.FileSource():
            raise _no_file(place)
    head = (Text(line) for line in (block.title, block.context) if line)
    return join_texts((*head, *content), LINE)


def _all_shown(inner: Sequence[blocks.ShownInResult], place: str) -> tuple[Shown, ...]:
    return tuple(part for at, block in enumerate(inner) for part in _shown(block, f"{place}[{at}]"))


def _result(block: blocks.ToolResultBlock, place: str) -> Result:
    match block.content:
        case None:
            parts: tuple[Shown, ...] = ()
        case str(text):
            parts = (Text(text),)
        case list(inner):
            parts = _all_shown(inner, f"{place}.content")
    return Result(block.tool_use_id, join_texts(parts, LINE), bool(block.is_error))


def _arguments(given: Raw, place: str) -> str:
    """Return the arguments of an earlier call as they were spelled."""
    if given == blocks.ABSENT:
        return "{}"
    spelled = bytes(given)
    if not spelled.startswith(b"{"):
        raise BadRequest(f"{place}.input: expected an object, the arguments by name", param=f"{place}.input")
    return spelled.decode()


def _told(content: Raw) -> tuple[Text, ...]:
    """Return what a tool elsewhere answered: words as they are, anything else as JSON without what is encrypted."""
    match _readable(msgspec.json.decode(content)):
        case None:
            return ()
        case str(text):
            return (Text(text),)
        case [*found] if texts := [text for text in map(_text_of, found) if text is not None]:
            return (Text(LINE.join(texts)),)
        case other:
            return (Text(msgspec.json.encode(other).decode()),)


def _readable(value: object) -> object:
    match value:
        case dict():
            kept = {name: inner for name, inner in value.items() if not name.startswith("encrypted_")}
            return {name: _readable(inner) for name, inner in kept.items()}
        case list():
            return [_readable(inner) for inner in value]
        case _:
            return value


def _text_of(value: object) -> str | None:
    match value:
        case {"type": "text", "text": str(text)}:
            return text
        case _:
            return None


def _refused(
    block: elsewhere.ContainerUploadBlock | elsewhere.ToolAdditionBlock | elsewhere.ToolRemovalBlock,
    place: str,
) -> BadRequest:
    match block:
        case elsewhere.ContainerUploadBlock():
            why = "container_upload is not supported: there are no containers here; send the text of the file"
        case elsewhere.ToolAdditionBlock() | elsewhere.ToolRemovalBlock():
            why = (
                "tools cannot be added or removed by tool_addition and tool_removal; "
                "send those on offer now in tools"
            )
    return BadRequest(f"{place}: {why}", param=place)


def _no_file(place: str) -> BadRequest:
    return BadRequest(f"{place}: files are not kept here; send the content itself", param=place)
