"""The JSON of questions about text; unknown fields are ignored here and reported by the manifest.

A conversation is written as in ``POST /v1/chat/completions``, with those of its fields that shape a prompt.
"""

from typing import Annotated, Literal

from msgspec import Meta, Struct

from mlxp_protocols.extensions import Primitive
from mlxp_protocols.openai_chat.wire import Effort, Message, Tool, ToolChoice

TokenId = Annotated[int, Meta(ge=0)]
Messages = Annotated[list[Message], Meta(min_length=1)]
Choice = Literal["none", "auto", "required"] | ToolChoice


class RenderBody(Struct, frozen=True, kw_only=True):
    """The body of ``POST /render``: a conversation."""

    messages: Messages
    model: str | None = None
    tools: list[Tool] | None = None
    tool_choice: Choice | None = None
    reasoning_effort: Effort | None = None
    chat_template_kwargs: dict[str, Primitive | None] | None = None


class TokenizeBody(Struct, frozen=True, kw_only=True):
    """The body of ``POST /tokenize``: ``prompt`` is plain text; ``messages`` and what follows, a conversation.

    ``add_special_tokens`` puts around plain text what the tokenizer puts there, which is the default.
    """

    prompt: str | None = None
    model: str | None = None
    add_special_tokens: bool | None = None
    messages: Messages | None = None
    tools: list[Tool] | None = None
    tool_choice: Choice | None = None
    reasoning_effort: Effort | None = None
    chat_template_kwargs: dict[str, Primitive | None] | None = None


class DetokenizeBody(Struct, frozen=True, kw_only=True):
    """The body of ``POST /detokenize``; special tokens show unless ``skip_special_tokens`` says not."""

    tokens: list[TokenId]
    model: str | None = None
    skip_special_tokens: bool | None = None


class Tokens(Struct, frozen=True, kw_only=True):
    """Token ids, how many they are, and what each shows as; a part of a character shows as U+FFFD."""

    model: str
    count: int
    tokens: tuple[int, ...]
    pieces: tuple[str, ...]


class PlainText(Struct, frozen=True, kw_only=True):
    """The text of token ids, and what each shows as."""

    model: str
    text: str
    pieces: tuple[str, ...]


class Prompt(Struct, frozen=True, kw_only=True):
    """A conversation as the model would read it: its text, and its tokens.

    An image is one placeholder in ``text``, and as many ``tokens`` as it costs.
    """

    model: str
    text: str
    count: int
    tokens: tuple[int, ...]
