"""The JSON of Anthropic requests; unknown fields are ignored here and reported by the manifest.

JSON null means "not said" everywhere, which is why nearly every field may be null.
"""

from typing import Annotated, Literal

from msgspec import Meta, Raw, Struct

from mlxp_protocols.anthropic_messages import wire_blocks as blocks
from mlxp_protocols.anthropic_messages import wire_elsewhere as elsewhere
from mlxp_protocols.anthropic_messages.wire_blocks import ABSENT
from mlxp_protocols.extensions import Primitive

Role = Literal["system", "user", "assistant"]
NonEmpty = Annotated[str, Meta(min_length=1)]

Block = (
    blocks.TextBlock
    | blocks.ImageBlock
    | blocks.DocumentBlock
    | blocks.SearchResultBlock
    | blocks.ThinkingBlock
    | blocks.RedactedThinkingBlock
    | blocks.ToolUseBlock
    | blocks.ToolResultBlock
    | elsewhere.CallElsewhere
    | elsewhere.McpToolResultBlock
    | elsewhere.ResultElsewhere
    | elsewhere.CompactionBlock
    | elsewhere.McpToolListingBlock
    | elsewhere.FallbackBlock
    | elsewhere.ContainerUploadBlock
    | elsewhere.ToolAdditionBlock
    | elsewhere.ToolRemovalBlock
)


class Turn(Struct, frozen=True):
    """One message; the last two fields may stand in a system message and have no effect."""

    role: Role
    content: str | list[Block] | None = None
    clear_at: str | None = None
    output_config: Raw = ABSENT


class Tool(Struct, frozen=True):
    """A tool on offer; one without ``input_schema`` is run by the provider's servers, or known to its models."""

    name: NonEmpty | None = None
    type: str | None = None
    description: str | None = None
    input_schema: dict[str, object] | None = None
    strict: bool | None = None
    eager_input_streaming: bool | None = None
    defer_loading: bool | None = None
    allowed_callers: Raw = ABSENT
    input_examples: Raw = ABSENT
    cache_control: Raw = ABSENT


class ToolChoice(Struct, frozen=True):
    """Whether tools may or must be called; ``name`` goes with ``tool``."""

    type: Literal["auto", "any", "tool", "none"]
    name: str | None = None
    disable_parallel_tool_use: bool | None = None


class ThinkingConfig(Struct, frozen=True):
    """Whether to think, and how much; ``block_binding`` has no effect."""

    type: Literal["enabled", "adaptive", "between_tools", "disabled"]
    budget_tokens: Annotated[int, Meta(ge=0)] | None = None
    display: str | None = None
    block_binding: Raw = ABSENT


class OutputFormat(Struct, frozen=True):
    """The shape of the answer: ``json_schema``, or a kind that a plugin brings."""

    type: str
    schema: Raw = ABSENT


class OutputConfig(Struct, frozen=True):
    """How to answer; ``effort`` and ``task_budget`` have no effect."""

    format: Raw = ABSENT
    effort: str | None = None
    task_budget: Raw = ABSENT


class MessagesRequest(Struct, frozen=True, kw_only=True):
    """The body of ``POST /v1/messages``, with our extensions at the end."""

    messages: Annotated[list[Turn], Meta(min_length=1)]
    max_tokens: Annotated[int, Meta(ge=1)]
    model: str | None = None
    system: str | list[blocks.TextBlock] | None = None
    stream: bool | None = None
    temperature: Annotated[float, Meta(ge=0, le=1)] | None = None
    top_p: Annotated[float, Meta(ge=0, le=1)] | None = None
    top_k: Annotated[int, Meta(ge=0)] | None = None
    stop_sequences: list[NonEmpty] | None = None
    tools: list[Tool] | None = None
    tool_choice: ToolChoice | None = None
    thinking: ThinkingConfig | None = None
    output_config: OutputConfig | None = None
    output_format: Raw = ABSENT
    mcp_servers: Annotated[list[Raw], Meta(max_length=0)] | None = None
    adapter: str | None = None
    seed: int | None = None
    sampler_stages: dict[str, Raw] | None = None
    chat_template_kwargs: dict[str, Primitive | None] | None = None
    explain_cache: bool | None = None
    guided_json: Raw = ABSENT
    guided_regex: str | None = None
    guided_choice: list[str] | None = None
    guided_grammar: str | None = None


class CountRequest(Struct, frozen=True, kw_only=True):
    """The body of ``POST /v1/messages/count_tokens``."""

    messages: Annotated[list[Turn], Meta(min_length=1)]
    model: str | None = None
    system: str | list[blocks.TextBlock] | None = None
    tools: list[Tool] | None = None
    tool_choice: ToolChoice | None = None
    thinking: ThinkingConfig | None = None
    mcp_servers: Annotated[list[Raw], Meta(max_length=0)] | None = None
    chat_template_kwargs: dict[str, Primitive | None] | None = None
