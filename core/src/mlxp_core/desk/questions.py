"""Questions about text: counting, rendering, tokenizing and back. Runs on worker threads; needs no arrays."""

from typing import assert_never

from msgspec.structs import replace

from mlxp_core.desk.faces import FrontendFace
from mlxp_core.errors import BadRequest
from mlxp_core.types import (
    Counted,
    CountRequest,
    Detokenized,
    DetokenizeRequest,
    GenerateRequest,
    Rendered,
    RenderRequest,
    Tokenized,
    TokenizeRequest,
)

TextQuestion = CountRequest | RenderRequest | TokenizeRequest | DetokenizeRequest
TextAnswer = Counted | Rendered | Tokenized | Detokenized


def conversation(question: CountRequest | RenderRequest) -> GenerateRequest:
    """Return the request that the question is about."""
    return GenerateRequest(
        id=question.id,
        model=question.model,
        prompt=question.messages,
        tools=question.tools,
        tool_choice=question.tool_choice,
        thinking=question.thinking,
        template_args=question.template_args,
    )


def answer_text(question: TextQuestion, frontend: FrontendFace) -> TextAnswer:
    """Answer a question about text.

    Args:
        question: with images already fetched and the deployment's defaults set.
        frontend: of the model it is about.

    Raises:
        BadRequest: the template refuses the conversation, or the model has no such token.
    """
    model = frontend.info.id
    match question:
        case CountRequest():
            return Counted(model=model, tokens=len(frontend.prepare(conversation(question)).tokens))
        case RenderRequest():
            prompt = frontend.prepare(conversation(question))
            pieces = _pieces(prompt.tokens, frontend)
            return Rendered(model=model, text=prompt.text, tokens=prompt.tokens, pieces=pieces)
        case TokenizeRequest(text=text, special=special):
            tokens = tuple(frontend.tokenizer.encode(text, special=special))
            return Tokenized(model=model, tokens=tokens, pieces=_pieces(tokens, frontend))
        case DetokenizeRequest(tokens=tokens, special=special):
            _check_tokens(tokens, frontend)
            text = frontend.tokenizer.decode(tokens, special=special)
            return Detokenized(model=model, text=text, pieces=_pieces(tokens, frontend))
        case _:
            assert_never(question)


def echoed(request: GenerateRequest, frontend: FrontendFace) -> str:
    """Return the text of a prompt that is plain text or token ids, if the request wants it told."""
    if not request.echo:
        return ""
    match request.prompt:
        case str() as text:
            return text
        case (int(), *_) as tokens:
            return frontend.tokenizer.decode([token for token in tokens if isinstance(token, int)])
        case _:
            raise BadRequest("a conversation is not echoed; send plain text or token ids", param="echo")


def with_thinking(question: CountRequest | RenderRequest, usual: bool | None) -> CountRequest | RenderRequest:
    """Return the question with the deployment's thinking where it does not say."""
    return question if question.thinking is not None else replace(question, thinking=usual)


def _pieces(tokens: tuple[int, ...], frontend: FrontendFace) -> tuple[str, ...]:
    return tuple(frontend.tokenizer.token_text(token) for token in tokens)


def _check_tokens(tokens: tuple[int, ...], frontend: FrontendFace) -> None:
    size = frontend.tokenizer.size
    for place, token in enumerate(tokens):
        if not 0 <= token < size:
            raise BadRequest(
                f"tokens[{place}]: {frontend.info.id} has no token {token}; its ids go from 0 to {size - 1}",
                param=f"tokens[{place}]",
            )
