"""Questions about text: bytes -> what is asked; answers -> bytes."""

from collections.abc import Callable

import msgspec
from msgspec import Struct

from mlxp_core.contracts import Exchanged
from mlxp_core.errors import BadRequest
from mlxp_core.types import (
    Detokenized,
    DetokenizeRequest,
    Rendered,
    RenderRequest,
    Tokenized,
    TokenizeRequest,
    WireRequest,
    WireResponse,
)
from mlxp_protocols import extensions
from mlxp_protocols.body import BodyReader
from mlxp_protocols.openai_chat.decode_messages import read_messages
from mlxp_protocols.openai_chat.decode_tools import read_tools
from mlxp_protocols.openai_chat.wire import ChatRequest
from mlxp_protocols.tokens import fields, wire

_ONE_OF_TWO = "send prompt (plain text) or messages (a conversation)"


class TokenDecoder:
    """Decodes questions about text.

    Args:
        new_id: makes a unique request id.
    """

    def __init__(self, new_id: Callable[[], str]) -> None:
        self._new_id = new_id
        self._tokenize = BodyReader(wire.TokenizeBody, fields.TOKENIZE, fields.HINTS)
        self._detokenize = BodyReader(wire.DetokenizeBody, fields.DETOKENIZE, fields.HINTS)
        self._render = BodyReader(wire.RenderBody, fields.RENDER, fields.HINTS)

    def tokenize(self, request: WireRequest) -> Exchanged[Tokenized] | Exchanged[Rendered]:
        """Read a question for the tokens of a text or a conversation.

        Raises:
            BadRequest: anything wrong with the body; ``param`` names the field.
        """
        body, warnings = self._tokenize.read(request.body)
        if body.prompt is not None and body.messages is not None:
            raise BadRequest(f"prompt and messages were both sent; {_ONE_OF_TWO}", param="prompt")
        if body.prompt is not None:
            special = body.add_special_tokens is not False
            model = body.model or ""
            asked = TokenizeRequest(id=self._new_id(), model=model, text=body.prompt, special=special)
            return Exchanged(asked, write_tokens, warnings, {"text": "prompt"})
        if body.messages is None:
            raise BadRequest(f"prompt: is missing, and so are messages; {_ONE_OF_TWO}", param="prompt")
        return Exchanged(self._conversation(body, body.messages), write_tokens, warnings, fields.NAMES)

    def detokenize(self, request: WireRequest) -> Exchanged[Detokenized]:
        """Read a question for the text of tokens.

        Raises:
            BadRequest: anything wrong with the body; ``param`` names the field.
        """
        body, warnings = self._detokenize.read(request.body)
        asked = DetokenizeRequest(
            id=self._new_id(),
            model=body.model or "",
            tokens=tuple(body.tokens),
            special=not body.skip_special_tokens,
        )
        return Exchanged(asked, write_text, warnings)

    def render(self, request: WireRequest) -> Exchanged[Rendered]:
        """Read a question for the prompt of a conversation.

        Raises:
            BadRequest: anything wrong with the body; ``param`` names the field.
        """
        body, warnings = self._render.read(request.body)
        return Exchanged(self._conversation(body, body.messages), write_prompt, warnings, fields.NAMES)

    def _conversation(
        self, body: wire.TokenizeBody | wire.RenderBody, messages: wire.Messages
    ) -> RenderRequest:
        tools, choice = read_tools(
            ChatRequest(messages=messages, tools=body.tools, tool_choice=body.tool_choice)
        )
        return RenderRequest(
            id=self._new_id(),
            model=body.model or "",
            messages=read_messages(messages),
            tools=tools,
            tool_choice=choice,
            thinking=extensions.thinking(body.chat_template_kwargs, body.reasoning_effort),
            template_args=extensions.template_args(body.chat_template_kwargs),
        )


def write_tokens(answer: Tokenized | Rendered) -> WireResponse:
    """Write the tokens of a text or a conversation."""
    count = len(answer.tokens)
    return _json(wire.Tokens(model=answer.model, count=count, tokens=answer.tokens, pieces=answer.pieces))


def write_text(answer: Detokenized) -> WireResponse:
    """Write the text of tokens."""
    return _json(wire.PlainText(model=answer.model, text=answer.text, pieces=answer.pieces))


def write_prompt(answer: Rendered) -> WireResponse:
    """Write the prompt of a conversation."""
    count = len(answer.tokens)
    return _json(wire.Prompt(model=answer.model, text=answer.text, count=count, tokens=answer.tokens))


def _json(body: Struct) -> WireResponse:
    return WireResponse(body=msgspec.json.encode(body))
