"""What this plugin brings: ``POST /v1/messages`` and ``POST /v1/messages/count_tokens``."""

import uuid

from mlxp_core import hookimpl
from mlxp_core.contracts import Endpoint, Exchange, WireProtocol
from mlxp_protocols.anthropic_messages import errors
from mlxp_protocols.anthropic_messages.decode import MessagesDecoder
from mlxp_protocols.anthropic_messages.fields import FIELDS
from mlxp_protocols.anthropic_messages.wire import CountRequest, MessagesRequest
from mlxp_protocols.anthropic_messages.wire_answer import AnswerMessage, TokenCount


def make_protocol(decoder: MessagesDecoder) -> WireProtocol:
    """Return the protocol around a decoder, which holds its source of ids."""
    return WireProtocol(
        name="anthropic",
        endpoints=(
            Endpoint(
                path="/v1/messages",
                decode=decoder.decode,
                accepts=MessagesRequest,
                returns=AnswerMessage,
                summary="Answer a conversation",
            ),
            Exchange(
                path="/v1/messages/count_tokens",
                decode=decoder.count,
                accepts=CountRequest,
                returns=TokenCount,
                summary="Count the tokens of a conversation",
            ),
        ),
        render_error=errors.render,
        fields=FIELDS,
        prefixes=("/v1/messages",),
        error=errors.ErrorBody,
    )


@hookimpl
def mlxp_protocols() -> list[WireProtocol]:
    """Return the one protocol."""
    return [make_protocol(MessagesDecoder(new_id=lambda: f"msg_{uuid.uuid4().hex}"))]
