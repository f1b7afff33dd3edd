"""What this plugin brings: ``POST /tokenize``, ``/detokenize`` and ``/render``, also under ``/v1``."""

import uuid

from mlxp_core import hookimpl
from mlxp_core.contracts import Exchange, WireProtocol
from mlxp_protocols import openai_error
from mlxp_protocols.tokens import wire
from mlxp_protocols.tokens.exchange import TokenDecoder
from mlxp_protocols.tokens.fields import FIELDS

_ROOTS = ("", "/v1")


def make_protocol(decoder: TokenDecoder) -> WireProtocol:
    """Return the protocol around a decoder, which holds its source of ids."""
    return WireProtocol(
        name="tokens",
        endpoints=tuple(exchange for root in _ROOTS for exchange in _exchanges(root, decoder)),
        render_error=openai_error.render,
        error=openai_error.ErrorBody,
        fields=FIELDS,
    )


def _exchanges(root: str, decoder: TokenDecoder) -> tuple[Exchange, ...]:
    return (
        Exchange(
            path=f"{root}/tokenize",
            decode=decoder.tokenize,
            accepts=wire.TokenizeBody,
            returns=wire.Tokens,
            summary="Show the tokens of a text or a conversation",
        ),
        Exchange(
            path=f"{root}/detokenize",
            decode=decoder.detokenize,
            accepts=wire.DetokenizeBody,
            returns=wire.PlainText,
            summary="Show the text of tokens",
        ),
        Exchange(
            path=f"{root}/render",
            decode=decoder.render,
            accepts=wire.RenderBody,
            returns=wire.Prompt,
            summary="Show the prompt of a conversation",
        ),
    )


@hookimpl
def mlxp_protocols() -> list[WireProtocol]:
    """Return the one protocol."""
    return [make_protocol(TokenDecoder(lambda: f"tok-{uuid.uuid4().hex}"))]
