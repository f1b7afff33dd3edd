"""The JSON of responses: the object, and the items of its output."""

from typing import Literal

from msgspec import Raw, Struct

from mlxp_core.types import Reuse
from mlxp_protocols.openai_responses.wire import Effort, Summary

Status = Literal["in_progress", "completed", "incomplete", "failed", "cancelled"]
ItemStatus = Literal["in_progress", "completed", "incomplete"]


class TopLogprob(Struct, frozen=True):
    """A rival of a token."""

    token: str
    bytes: list[int]
    logprob: float


class Logprob(Struct, frozen=True):
    """A token of the answer with its likeliest rivals."""

    token: str
    bytes: list[int]
    logprob: float
    top_logprobs: list[TopLogprob]


class OutputText(Struct, frozen=True, tag_field="type", tag="output_text"):
    """Words of the answer; there are never annotations."""

    text: str
    annotations: tuple[()] = ()
    logprobs: tuple[Logprob, ...] = ()


class SummaryText(Struct, frozen=True, tag_field="type", tag="summary_text"):
    """Words of the reasoning."""

    text: str


class MessageItem(Struct, frozen=True, kw_only=True, tag_field="type", tag="message"):
    """A run of words."""

    id: str
    status: ItemStatus
    role: Literal["assistant"] = "assistant"
    content: tuple[OutputText, ...]


class ReasoningItem(Struct, frozen=True, kw_only=True, tag_field="type", tag="reasoning"):
    """A run of reasoning, told whole as its summary."""

    id: str
    status: ItemStatus
    summary: tuple[SummaryText, ...]


class FunctionCallItem(
    Struct, frozen=True, kw_only=True, tag_field="type", tag="function_call", omit_defaults=True
):
    """A call of a function; ``arguments`` is JSON text."""

    id: str
    status: ItemStatus
    call_id: str
    name: str
    arguments: str
    namespace: str | None = None


class CustomCallItem(
    Struct, frozen=True, kw_only=True, tag_field="type", tag="custom_tool_call", omit_defaults=True
):
    """A call of a custom tool with free text."""

    id: str
    status: ItemStatus
    call_id: str
    name: str
    input: str
    namespace: str | None = None


OutputItem = MessageItem | ReasoningItem | FunctionCallItem | CustomCallItem


class InputDetails(Struct, frozen=True):
    """Where the prompt came from; what the cache takes in is not counted."""

    cached_tokens: int
    cache_write_tokens: int = 0


class OutputDetails(Struct, frozen=True):
    """What the answer was spent on."""

    reasoning_tokens: int


class Usage(Struct, frozen=True):
    """Tokens of the response."""

    input_tokens: int
    input_tokens_details: InputDetails
    output_tokens: int
    output_tokens_details: OutputDetails
    total_tokens: int


class Fault(Struct, frozen=True):
    """Why a response failed."""

    code: str
    message: str


class IncompleteDetails(Struct, frozen=True):
    """Why a response is incomplete."""

    reason: Literal["max_output_tokens"]


class Extension(Struct, frozen=True, omit_defaults=True):
    """What we add to a response under ``mlxp``; a field is there when it has something to say.

    Attributes:
        seed: the seed in use.
        stop: the stop string that ended the answer.
        warnings: diagnostics, such as malformed tool markup.
        cache: how much of the prompt was taken from the prompt cache, and why not more; only where that was asked.
    """

    seed: int | None = None
    stop: str | None = None
    warnings: tuple[str, ...] = ()
    cache: Reuse | None = None


class ReasoningEcho(Struct, frozen=True):
    """How to think, as it was asked."""

    effort: Effort | None
    summary: Summary | None


class TextEcho(Struct, frozen=True):
    """What the text was to look like."""

    format: Raw
    verbosity: Literal["low", "medium", "high"] = "medium"


class Response(Struct, frozen=True, kw_only=True):
    """A response, finished or under way; the values of its request are echoed."""

    id: str
    object: Literal["response"] = "response"
    created_at: int
    status: Status
    background: bool = False
    completed_at: int | None = None
    error: Fault | None = None
    incomplete_details: IncompleteDetails | None = None
    instructions: str | None = None
    max_output_tokens: int | None = None
    max_tool_calls: int | None = None
    model: str
    output: tuple[OutputItem, ...] = ()
    parallel_tool_calls: bool = True
    previous_response_id: str | None = None
    prompt_cache_key: str | None = None
    reasoning: ReasoningEcho
    safety_identifier: str | None = None
    service_tier: Literal["default"] = "default"
    store: bool = True
    temperature: float | None = None
    text: TextEcho
    tool_choice: Raw
    tools: tuple[Raw, ...] = ()
    top_logprobs: int = 0
    top_p: float | None = None
    truncation: Literal["auto", "disabled"] = "disabled"
    usage: Usage | None = None
    user: str | None = None
    metadata: dict[str, str] = {}
    mlxp: Extension = Extension()


class TokenCount(Struct, frozen=True, kw_only=True):
    """How many tokens a response would read."""

    object: Literal["response.input_tokens"] = "response.input_tokens"
    input_tokens: int


class Deleted(Struct, frozen=True, kw_only=True):
    """A response that was deleted."""

    id: str
    object: Literal["response"] = "response"
    deleted: Literal[True] = True


class ItemList(Struct, frozen=True, kw_only=True):
    """A page of input items."""

    object: Literal["list"] = "list"
    data: list[Raw]
    first_id: str | None
    last_id: str | None
    has_more: bool
