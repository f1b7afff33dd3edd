"""The JSON of Anthropic answers: whole ones, and the events of a stream."""

from typing import Literal

from msgspec import UNSET, Raw, Struct, UnsetType

from mlxp_core.types import Reuse

StopReason = Literal["end_turn", "max_tokens", "stop_sequence", "tool_use"]


class Extension(Struct, frozen=True, omit_defaults=True):
    """What we add to an answer under ``mlxp``; a field is there when it has something to say.

    Attributes:
        seed: the seed in use.
        cancelled: whether the answer was cancelled; the protocol has no reason for it.
        warnings: diagnostics, such as malformed tool markup.
        cache: how much of the prompt was taken from the prompt cache, and why not more; only where that was asked.
    """

    seed: int | None = None
    cancelled: bool = False
    warnings: tuple[str, ...] = ()
    cache: Reuse | None = None


class OutputDetails(Struct, frozen=True):
    """What the answer was spent on."""

    thinking_tokens: int


class Usage(Struct, frozen=True, kw_only=True):
    """Tokens so far; ``input_tokens`` are those of the prompt that did not come from the cache."""

    input_tokens: int
    cache_creation_input_tokens: int = 0
    cache_read_input_tokens: int
    output_tokens: int
    output_tokens_details: OutputDetails


class TextBlock(Struct, frozen=True, tag_field="type", tag="text"):
    """Words."""

    text: str


class ThinkingBlock(Struct, frozen=True, tag_field="type", tag="thinking"):
    """Reasoning; nothing here signs it."""

    thinking: str
    signature: str = ""


class ToolUseBlock(Struct, frozen=True, tag_field="type", tag="tool_use"):
    """A call; ``input`` is as the model spelled it."""

    id: str
    name: str
    input: Raw


Block = TextBlock | ThinkingBlock | ToolUseBlock


class AnswerMessage(Struct, frozen=True, kw_only=True, tag_field="type", tag="message"):
    """A whole answer; at the start of a stream, one without content."""

    id: str
    role: Literal["assistant"] = "assistant"
    model: str
    content: list[Block]
    stop_reason: StopReason | None = None
    stop_sequence: str | None = None
    usage: Usage
    mlxp: Extension | UnsetType = UNSET


class MessageStart(Struct, frozen=True, tag_field="type", tag="message_start"):
    """The answer begins; its prompt is counted."""

    message: AnswerMessage


class BlockStart(Struct, frozen=True, tag_field="type", tag="content_block_start"):
    """Block number ``index`` begins."""

    index: int
    content_block: Block


class TextDelta(Struct, frozen=True, tag_field="type", tag="text_delta"):
    """More words."""

    text: str


class ThinkingDelta(Struct, frozen=True, tag_field="type", tag="thinking_delta"):
    """More reasoning."""

    thinking: str


class SignatureDelta(Struct, frozen=True, tag_field="type", tag="signature_delta"):
    """The signature of a block of reasoning, which ends it."""

    signature: str = ""


class InputDelta(Struct, frozen=True, tag_field="type", tag="input_json_delta"):
    """More of the arguments, as JSON text."""

    partial_json: str


Delta = TextDelta | ThinkingDelta | SignatureDelta | InputDelta


class BlockDelta(Struct, frozen=True, tag_field="type", tag="content_block_delta"):
    """More of block number ``index``."""

    index: int
    delta: Delta


class BlockStop(Struct, frozen=True, tag_field="type", tag="content_block_stop"):
    """Block number ``index`` is complete."""

    index: int


class Ending(Struct, frozen=True):
    """Why the answer ended, and the stop sequence if one ended it."""

    stop_reason: StopReason
    stop_sequence: str | None


class MessageDelta(Struct, frozen=True, tag_field="type", tag="message_delta"):
    """The answer is complete; ``usage`` is that of the whole answer."""

    delta: Ending
    usage: Usage
    mlxp: Extension | UnsetType = UNSET


class MessageStop(Struct, frozen=True, tag_field="type", tag="message_stop"):
    """Nothing follows."""


class Ping(Struct, frozen=True, tag_field="type", tag="ping"):
    """Still here."""


class TokenCount(Struct, frozen=True):
    """How many tokens a prompt has."""

    input_tokens: int
