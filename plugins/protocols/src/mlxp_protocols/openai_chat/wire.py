"""The JSON of chat requests; unknown fields are ignored here and reported by the manifest.

JSON null means "not said" everywhere, which is why nearly every field may be null.
"""

from typing import Annotated, Literal

from msgspec import Meta, Raw, Struct

from mlxp_protocols.extensions import Primitive

ABSENT = Raw(b"null")
"""What an unread JSON value is when nothing was sent."""

Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]
TokenId = Annotated[int, Meta(ge=0)]
Bias = Annotated[float, Meta(ge=-100, le=100)]
StopString = Annotated[str, Meta(min_length=1)]


class ImageRef(Struct, frozen=True):
    """Where an image is; ``detail`` has no effect, the model decides the resolution."""

    url: str
    detail: str | None = None


class TextPart(Struct, frozen=True, tag_field="type", tag="text"):
    """Words."""

    text: str


class ImageUrlPart(Struct, frozen=True, tag_field="type", tag="image_url"):
    """An image by URL; ``image_url`` may be the bare URL."""

    image_url: ImageRef | str


class ImagePart(Struct, frozen=True, tag_field="type", tag="image"):
    """An image as bare base64."""

    data: str


class RefusalPart(Struct, frozen=True, tag_field="type", tag="refusal"):
    """A refusal of an earlier assistant turn."""

    refusal: str


class AudioPart(Struct, frozen=True, tag_field="type", tag="input_audio"):
    """Sound; refused by name."""

    input_audio: Raw = ABSENT


class FilePart(Struct, frozen=True, tag_field="type", tag="file"):
    """A document; refused by name."""

    file: Raw = ABSENT


Part = TextPart | ImageUrlPart | ImagePart | RefusalPart | AudioPart | FilePart
Content = str | list[Part] | None


class PastFunction(Struct, frozen=True):
    """What was called; ``arguments`` is a string of JSON, or by some clients the object itself."""

    name: str
    arguments: Raw = ABSENT


class PastCall(Struct, frozen=True):
    """A tool call of an earlier assistant turn; ``index`` is a leftover of streams."""

    function: PastFunction | None = None
    id: str | None = None
    type: str | None = None
    index: int | None = None


class SystemMessage(Struct, frozen=True, tag_field="role", tag="system"):
    """Instructions."""

    content: Content = None
    name: str | None = None


class DeveloperMessage(Struct, frozen=True, tag_field="role", tag="developer"):
    """Instructions, by their newer name."""

    content: Content = None
    name: str | None = None


class UserMessage(Struct, frozen=True, tag_field="role", tag="user"):
    """What the user says and shows."""

    content: Content = None
    name: str | None = None


class AssistantMessage(Struct, frozen=True, tag_field="role", tag="assistant"):
    """An earlier answer, with its reasoning under either of its two names."""

    content: Content = None
    name: str | None = None
    refusal: str | None = None
    reasoning: str | None = None
    reasoning_content: str | None = None
    tool_calls: list[PastCall] | None = None
    audio: Raw = ABSENT
    function_call: Raw = ABSENT


class ToolMessage(Struct, frozen=True, tag_field="role", tag="tool"):
    """What a tool answered."""

    tool_call_id: str
    content: Content = None
    name: str | None = None


class FunctionMessage(Struct, frozen=True, tag_field="role", tag="function"):
    """The retired form of ``ToolMessage``; refused by name."""

    content: Content = None
    name: str | None = None


Message = SystemMessage | DeveloperMessage | UserMessage | AssistantMessage | ToolMessage | FunctionMessage


class Function(Struct, frozen=True):
    """A function the model may call; ``parameters`` is a JSON schema."""

    name: Annotated[str, Meta(min_length=1)]
    description: str | None = None
    parameters: dict[str, object] | None = None
    strict: bool | None = None


class Tool(Struct, frozen=True):
    """A tool on offer; only functions are."""

    function: Function | None = None
    type: str | None = None


class NamedFunction(Struct, frozen=True):
    """A function by name."""

    name: str


class AllowedTool(Struct, frozen=True):
    """One of the tools that may be called."""

    function: NamedFunction
    type: str | None = None


class AllowedTools(Struct, frozen=True):
    """A subset of the tools on offer."""

    mode: Literal["auto", "required"]
    tools: list[AllowedTool]


class ToolChoice(Struct, frozen=True):
    """A choice that names tools: ``type`` says which of the two other fields counts."""

    type: str
    function: NamedFunction | None = None
    allowed_tools: AllowedTools | None = None


class StreamOptions(Struct, frozen=True):
    """How to stream; ``include_obfuscation`` has no effect."""

    include_usage: bool | None = None
    include_obfuscation: bool | None = None


class JsonSchema(Struct, frozen=True):
    """A schema with its name; ``strict`` is implied, an answer is held to its schema or refused."""

    schema: Raw = ABSENT
    name: str | None = None
    description: str | None = None
    strict: bool | None = None


class ResponseFormat(Struct, frozen=True):
    """The shape of the answer: ``text``, ``json_object``, ``json_schema``, or a kind that a plugin brings."""

    type: str
    json_schema: JsonSchema | None = None


class ChatRequest(Struct, frozen=True, kw_only=True):
    """The body of ``POST /v1/chat/completions``, with our extensions at the end."""

    messages: Annotated[list[Message], Meta(min_length=1)]
    model: str | None = None
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    max_tokens: Annotated[int, Meta(ge=1)] | None = None
    max_completion_tokens: Annotated[int, Meta(ge=1)] | None = None
    temperature: Annotated[float, Meta(ge=0, le=2)] | None = None
    top_p: Annotated[float, Meta(ge=0, le=1)] | None = None
    seed: int | None = None
    stop: StopString | Annotated[list[StopString], Meta(max_length=16)] | None = None
    n: Annotated[int, Meta(ge=1, le=8)] | None = None
    logprobs: bool | None = None
    top_logprobs: Annotated[int, Meta(ge=0, le=20)] | None = None
    logit_bias: dict[TokenId, Bias] | None = None
    presence_penalty: Annotated[float, Meta(ge=-2, le=2)] | None = None
    frequency_penalty: Annotated[float, Meta(ge=-2, le=2)] | None = None
    tools: list[Tool] | None = None
    tool_choice: Literal["none", "auto", "required"] | ToolChoice | None = None
    parallel_tool_calls: bool | None = None
    response_format: Raw = ABSENT
    reasoning_effort: Effort | None = None
    top_k: Annotated[int, Meta(ge=0)] | None = None
    min_p: Annotated[float, Meta(ge=0, le=1)] | None = None
    repetition_penalty: Annotated[float, Meta(gt=0)] | None = None
    repetition_window: Annotated[int, Meta(ge=1)] | None = None
    chat_template_kwargs: dict[str, Primitive | None] | None = None
    modalities: list[Literal["text"]] | None = None
    adapter: str | None = None
    sampler_stages: dict[str, Raw] | None = None
    explain_cache: bool | None = None
    thinking_budget: Annotated[int, Meta(ge=0)] | None = None
    guided_json: Raw = ABSENT
    guided_regex: str | None = None
    guided_choice: list[str] | None = None
    guided_grammar: str | None = None
