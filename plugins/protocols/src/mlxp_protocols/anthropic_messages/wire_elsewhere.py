"""The JSON of blocks from elsewhere: tools that another server ran, marks that it left in the conversation.

A conversation begun there goes on here: its calls and results are kept, what only that server can use is dropped or
refused.
"""

from msgspec import Raw, Struct

from mlxp_protocols.anthropic_messages.wire_blocks import ABSENT


class ServerToolUseBlock(Struct, frozen=True, tag_field="type", tag="server_tool_use"):
    """A call that the other server ran itself."""

    id: str
    name: str
    input: Raw = ABSENT
    caller: Raw = ABSENT
    cache_control: Raw = ABSENT


class McpToolUseBlock(Struct, frozen=True, tag_field="type", tag="mcp_tool_use"):
    """A call that the other server passed on."""

    id: str
    name: str
    input: Raw = ABSENT
    server_name: str | None = None
    cache_control: Raw = ABSENT


class McpToolResultBlock(Struct, frozen=True, tag_field="type", tag="mcp_tool_result"):
    """What such a call was answered."""

    tool_use_id: str
    content: Raw = ABSENT
    is_error: bool | None = None
    cache_control: Raw = ABSENT


class WebSearchResultBlock(Struct, frozen=True, tag_field="type", tag="web_search_tool_result"):
    """What a search found."""

    tool_use_id: str
    content: Raw = ABSENT
    caller: Raw = ABSENT
    cache_control: Raw = ABSENT


class WebFetchResultBlock(Struct, frozen=True, tag_field="type", tag="web_fetch_tool_result"):
    """A page."""

    tool_use_id: str
    content: Raw = ABSENT
    caller: Raw = ABSENT
    cache_control: Raw = ABSENT


class CodeResultBlock(Struct, frozen=True, tag_field="type", tag="code_execution_tool_result"):
    """What a program printed."""

    tool_use_id: str
    content: Raw = ABSENT
    cache_control: Raw = ABSENT


class BashResultBlock(Struct, frozen=True, tag_field="type", tag="bash_code_execution_tool_result"):
    """What a command printed."""

    tool_use_id: str
    content: Raw = ABSENT
    cache_control: Raw = ABSENT


class EditorResultBlock(Struct, frozen=True, tag_field="type", tag="text_editor_code_execution_tool_result"):
    """What became of a file."""

    tool_use_id: str
    content: Raw = ABSENT
    cache_control: Raw = ABSENT


class ToolSearchResultBlock(Struct, frozen=True, tag_field="type", tag="tool_search_tool_result"):
    """Which tools a search for tools found."""

    tool_use_id: str
    content: Raw = ABSENT
    cache_control: Raw = ABSENT


class AdvisorResultBlock(Struct, frozen=True, tag_field="type", tag="advisor_tool_result"):
    """What another model advised."""

    tool_use_id: str
    content: Raw = ABSENT
    cache_control: Raw = ABSENT


class CompactionBlock(Struct, frozen=True, tag_field="type", tag="compaction"):
    """A summary of what was said before; one that only its author can read is dropped."""

    content: str | None = None
    encrypted_content: Raw = ABSENT
    signature: Raw = ABSENT
    tool_changes: Raw = ABSENT
    cache_control: Raw = ABSENT


class McpToolListingBlock(Struct, frozen=True, tag_field="type", tag="mcp_tool_listing"):
    """Which tools the other server found; dropped."""

    mcp_server_name: Raw = ABSENT
    tools: Raw = ABSENT


class FallbackBlock(Struct, frozen=True, tag_field="type", tag="fallback", rename={"origin": "from"}):
    """A mark where another model took over; dropped."""

    origin: Raw = ABSENT
    to: Raw = ABSENT
    trigger: Raw = ABSENT


class ContainerUploadBlock(Struct, frozen=True, tag_field="type", tag="container_upload"):
    """A file for a container; refused by name."""

    file_id: Raw = ABSENT
    cache_control: Raw = ABSENT


class ToolAdditionBlock(Struct, frozen=True, tag_field="type", tag="tool_addition"):
    """A tool that is on offer from here on; refused by name."""

    tool: Raw = ABSENT
    cache_control: Raw = ABSENT


class ToolRemovalBlock(Struct, frozen=True, tag_field="type", tag="tool_removal"):
    """A tool that is withdrawn from here on; refused by name."""

    tool: Raw = ABSENT
    cache_control: Raw = ABSENT


CallElsewhere = ServerToolUseBlock | McpToolUseBlock
ResultElsewhere = (
    WebSearchResultBlock
    | WebFetchResultBlock
    | CodeResultBlock
    | BashResultBlock
    | EditorResultBlock
    | ToolSearchResultBlock
    | AdvisorResultBlock
)
