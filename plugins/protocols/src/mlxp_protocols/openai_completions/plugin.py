"""What this plugin brings: ``POST /v1/completions``."""

import time
import uuid

from mlxp_core import __version__, hookimpl
from mlxp_core.contracts import Endpoint, WireProtocol
from mlxp_protocols import openai_error
from mlxp_protocols.openai_completions.decode import CompletionDecoder
from mlxp_protocols.openai_completions.fields import FIELDS
from mlxp_protocols.openai_completions.wire import Completion, CompletionRequest


def make_protocol(decoder: CompletionDecoder) -> WireProtocol:
    """Return the protocol around a decoder, which holds its clock and its source of ids."""
    return WireProtocol(
        name="openai-completions",
        endpoints=(
            Endpoint(
                path="/v1/completions",
                decode=decoder.decode,
                accepts=CompletionRequest,
                returns=Completion,
                summary="Go on with a text",
            ),
        ),
        render_error=openai_error.render,
        error=openai_error.ErrorBody,
        fields=FIELDS,
        prefixes=("/v1/completions",),
    )


@hookimpl
def mlxp_protocols() -> list[WireProtocol]:
    """Return the one protocol."""
    decoder = CompletionDecoder(
        new_id=lambda: f"cmpl-{uuid.uuid4().hex}", now=time.time, fingerprint=f"mlxp-{__version__}"
    )
    return [make_protocol(decoder)]
