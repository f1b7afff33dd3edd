"""The JSON of content blocks in Anthropic requests: what was said, shown, thought, called and answered.

``cache_control``, ``citations`` and the like are known and have no effect: prefixes are found without marks.
"""

from msgspec import Raw, Struct

ABSENT = Raw(b"null")
"""What an unread JSON value is when nothing was sent."""


class Base64Source(Struct, frozen=True, tag_field="type", tag="base64"):
    """Encoded bytes: of an image, or of a PDF."""

    data: str
    media_type: str | None = None


class UrlSource(Struct, frozen=True, tag_field="type", tag="url"):
    """Something to fetch."""

    url: str


class FileSource(Struct, frozen=True, tag_field="type", tag="file"):
    """A file uploaded earlier; refused by name."""

    file_id: str


class TextSource(Struct, frozen=True, tag_field="type", tag="text"):
    """A document as plain text."""

    data: str
    media_type: str | None = None


class TextBlock(Struct, frozen=True, tag_field="type", tag="text"):
    """Words."""

    text: str
    citations: Raw = ABSENT
    cache_control: Raw = ABSENT


class ImageBlock(Struct, frozen=True, tag_field="type", tag="image"):
    """An image; ``transformations`` have no effect, the model decides the resolution."""

    source: Base64Source | UrlSource | FileSource
    transformations: Raw = ABSENT
    cache_control: Raw = ABSENT


class ContentSource(Struct, frozen=True, tag_field="type", tag="content"):
    """A document as text and images."""

    content: str | list[TextBlock | ImageBlock]


class DocumentBlock(Struct, frozen=True, tag_field="type", tag="document"):
    """A document; its title and context are put before its text."""

    source: TextSource | ContentSource | Base64Source | UrlSource | FileSource
    title: str | None = None
    context: str | None = None
    citations: Raw = ABSENT
    cache_control: Raw = ABSENT


class SearchResultBlock(Struct, frozen=True, tag_field="type", tag="search_result"):
    """Something that a search of the client found."""

    source: str
    title: str
    content: list[TextBlock]
    citations: Raw = ABSENT
    cache_control: Raw = ABSENT


class ToolReferenceBlock(Struct, frozen=True, tag_field="type", tag="tool_reference"):
    """The name of a tool that a search for tools found."""

    tool_name: str
    cache_control: Raw = ABSENT


class BrowserStateBlock(Struct, frozen=True, tag_field="type", tag="browser_state"):
    """What a browser shows, as JSON."""

    tabs: Raw = ABSENT
    state_changes: Raw = ABSENT
    cache_control: Raw = ABSENT


class ThinkingBlock(Struct, frozen=True, tag_field="type", tag="thinking"):
    """Reasoning of an earlier answer."""

    thinking: str
    signature: str | None = None


class RedactedThinkingBlock(Struct, frozen=True, tag_field="type", tag="redacted_thinking"):
    """Reasoning that only its author can read; dropped."""

    data: Raw = ABSENT


class ToolUseBlock(Struct, frozen=True, tag_field="type", tag="tool_use"):
    """A call of an earlier answer; ``input`` is kept as it was spelled."""

    id: str
    name: str
    input: Raw = ABSENT
    caller: Raw = ABSENT
    toolset_name: str | None = None
    cache_control: Raw = ABSENT


ShownInResult = (
    TextBlock | ImageBlock | SearchResultBlock | DocumentBlock | ToolReferenceBlock | BrowserStateBlock
)


class ToolResultBlock(Struct, frozen=True, tag_field="type", tag="tool_result"):
    """What a tool answered."""

    tool_use_id: str
    content: str | list[ShownInResult] | None = None
    is_error: bool | None = None
    toolset_name: str | None = None
    cache_control: Raw = ABSENT
