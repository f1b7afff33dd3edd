"""The JSON of chat answers: whole ones, and the chunks of a stream."""

from typing import Literal

from msgspec import UNSET, Struct, UnsetType

from mlxp_protocols.openai_answer import Extension, TokenUsage

FinishReason = Literal["stop", "length", "tool_calls"]


class TopLogprob(Struct, frozen=True):
    """A rival of a token."""

    token: str
    bytes: list[int]
    logprob: float


class TokenLogprob(Struct, frozen=True):
    """A token of the answer with its likeliest rivals."""

    token: str
    bytes: list[int]
    logprob: float
    top_logprobs: list[TopLogprob]


class Logprobs(Struct, frozen=True):
    """The scores of some tokens of the answer."""

    content: list[TokenLogprob]
    refusal: None = None


class CalledFunction(Struct, frozen=True):
    """A called function; ``arguments`` is JSON text."""

    name: str
    arguments: str


class ToolCall(Struct, frozen=True, kw_only=True):
    """A finished call."""

    id: str
    type: Literal["function"] = "function"
    function: CalledFunction


class AnswerMessage(Struct, frozen=True, kw_only=True):
    """A whole answer; its reasoning stands under both names that clients look for."""

    role: Literal["assistant"] = "assistant"
    content: str | None
    refusal: None = None
    reasoning: str | UnsetType = UNSET
    reasoning_content: str | UnsetType = UNSET
    tool_calls: list[ToolCall] | UnsetType = UNSET


class Choice(Struct, frozen=True, kw_only=True):
    """One of the answers."""

    index: int
    message: AnswerMessage
    logprobs: Logprobs | None = None
    finish_reason: FinishReason
    mlxp: Extension


class ChatCompletion(Struct, frozen=True, kw_only=True):
    """The body of a whole answer."""

    id: str
    object: Literal["chat.completion"] = "chat.completion"
    created: int
    model: str
    system_fingerprint: str
    choices: list[Choice]
    usage: TokenUsage


class FunctionDelta(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """More of a call: the name first, then fragments of the arguments."""

    name: str | None = None
    arguments: str


class ToolCallDelta(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """More of the call number ``index``; ``id`` and ``type`` come with the first."""

    index: int
    id: str | None = None
    type: Literal["function"] | None = None
    function: FunctionDelta


class Delta(Struct, frozen=True, omit_defaults=True):
    """What is new."""

    role: Literal["assistant"] | None = None
    content: str | None = None
    reasoning: str | None = None
    reasoning_content: str | None = None
    tool_calls: list[ToolCallDelta] | None = None


class ChunkChoice(Struct, frozen=True, kw_only=True):
    """What is new in one of the answers."""

    index: int
    delta: Delta
    finish_reason: FinishReason | None = None
    logprobs: Logprobs | UnsetType = UNSET
    mlxp: Extension | UnsetType = UNSET


class Chunk(Struct, frozen=True, kw_only=True):
    """One frame of a stream; with ``include_usage``, ``usage`` is null in all but the last."""

    id: str
    object: Literal["chat.completion.chunk"] = "chat.completion.chunk"
    created: int
    model: str
    system_fingerprint: str
    choices: list[ChunkChoice]
    usage: TokenUsage | UnsetType | None = UNSET
