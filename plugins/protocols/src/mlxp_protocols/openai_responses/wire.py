"""The JSON of requests for a response; unknown fields are ignored here and reported by the manifest.

JSON null means "not said" everywhere, which is why every field may be null. Items of the input and tools are left
unread here: their kinds are open, and those that we do not know are passed over instead of refused.
"""

from typing import Annotated, Literal

from msgspec import Meta, Raw, Struct

ABSENT = Raw(b"null")
"""What an unread JSON value is when nothing was sent."""

Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]
Summary = Literal["auto", "concise", "detailed"]
Primitive = str | int | float | bool


class Reasoning(Struct, frozen=True):
    """How to think; only ``effort`` has an effect, and the whole reasoning is told as its summary."""

    effort: Effort | None = None
    summary: Summary | None = None
    generate_summary: Summary | None = None
    context: str | None = None
    mode: str | None = None


class Format(Struct, frozen=True):
    """The shape of the answer: ``text``, ``json_object``, ``json_schema``, or a kind that a plugin brings."""

    type: str
    schema: Raw = ABSENT
    name: str | None = None
    description: str | None = None
    strict: bool | None = None


class TextConfig(Struct, frozen=True):
    """What the text of the answer looks like; ``verbosity`` has no effect."""

    format: Raw = ABSENT
    verbosity: Literal["low", "medium", "high"] | None = None


class StreamOptions(Struct, frozen=True):
    """How to stream; nothing is ever obfuscated."""

    include_obfuscation: bool | None = None


class CountRequest(Struct, frozen=True, kw_only=True):
    """The body of ``POST /v1/responses/input_tokens``: what of a request decides its prompt."""

    input: str | list[Raw] | None = None
    model: str | None = None
    instructions: str | None = None
    previous_response_id: str | None = None
    tools: list[Raw] | None = None
    tool_choice: Raw = ABSENT
    parallel_tool_calls: bool | None = None
    text: TextConfig | None = None
    reasoning: Reasoning | None = None
    truncation: Literal["auto", "disabled"] | None = None
    chat_template_kwargs: dict[str, Primitive | None] | None = None


class ResponsesRequest(Struct, frozen=True, kw_only=True):
    """The body of ``POST /v1/responses``, with our extensions at the end."""

    input: str | list[Raw] | None = None
    model: str | None = None
    instructions: str | None = None
    previous_response_id: str | None = None
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    store: bool | None = None
    background: bool | None = None
    max_output_tokens: Annotated[int, Meta(ge=1)] | None = None
    temperature: Annotated[float, Meta(ge=0, le=2)] | None = None
    top_p: Annotated[float, Meta(ge=0, le=1)] | None = None
    top_logprobs: Annotated[int, Meta(ge=0, le=20)] | None = None
    include: list[str] | None = None
    tools: list[Raw] | None = None
    tool_choice: Raw = ABSENT
    parallel_tool_calls: bool | None = None
    max_tool_calls: int | None = None
    text: TextConfig | None = None
    reasoning: Reasoning | None = None
    truncation: Literal["auto", "disabled"] | None = None
    metadata: dict[str, str] | None = None
    prompt_cache_key: str | None = None
    safety_identifier: str | None = None
    user: str | None = None
    seed: int | None = None
    top_k: Annotated[int, Meta(ge=0)] | None = None
    min_p: Annotated[float, Meta(ge=0, le=1)] | None = None
    repetition_penalty: Annotated[float, Meta(gt=0)] | None = None
    repetition_window: Annotated[int, Meta(ge=1)] | None = None
    max_tokens: Annotated[int, Meta(ge=1)] | None = None
    chat_template_kwargs: dict[str, Primitive | None] | None = None
    adapter: str | None = None
    sampler_stages: dict[str, Raw] | None = None
    thinking_budget: Annotated[int, Meta(ge=0)] | None = None
    explain_cache: bool | None = None
    guided_json: Raw = ABSENT
    guided_regex: str | None = None
    guided_choice: list[str] | None = None
    guided_grammar: str | None = None
