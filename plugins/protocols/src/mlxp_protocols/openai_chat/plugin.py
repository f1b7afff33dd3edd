"""What this plugin brings: ``POST /v1/chat/completions``."""

import time
import uuid

from mlxp_core import __version__, hookimpl
from mlxp_core.contracts import Endpoint, WireProtocol
from mlxp_protocols import openai_error
from mlxp_protocols.openai_chat.decode import ChatDecoder
from mlxp_protocols.openai_chat.fields import FIELDS
from mlxp_protocols.openai_chat.wire import ChatRequest
from mlxp_protocols.openai_chat.wire_answer import ChatCompletion


def make_protocol(decoder: ChatDecoder) -> WireProtocol:
    """Return the protocol around a decoder, which holds its clock and its source of ids."""
    return WireProtocol(
        name="openai-chat",
        endpoints=(
            Endpoint(
                path="/v1/chat/completions",
                decode=decoder.decode,
                accepts=ChatRequest,
                returns=ChatCompletion,
                summary="Answer a conversation",
            ),
        ),
        render_error=openai_error.render,
        error=openai_error.ErrorBody,
        fields=FIELDS,
        prefixes=("/v1/chat",),
    )


@hookimpl
def mlxp_protocols() -> list[WireProtocol]:
    """Return the one protocol."""
    decoder = ChatDecoder(
        new_id=lambda: f"chatcmpl-{uuid.uuid4().hex}", now=time.time, fingerprint=f"mlxp-{__version__}"
    )
    return [make_protocol(decoder)]
