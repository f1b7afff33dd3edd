"""What this plugin brings: ``POST /v1/embeddings``."""

import uuid

from mlxp_core import hookimpl
from mlxp_core.contracts import Exchange, WireProtocol
from mlxp_protocols import openai_error
from mlxp_protocols.openai_embeddings.exchange import EmbeddingDecoder
from mlxp_protocols.openai_embeddings.fields import FIELDS
from mlxp_protocols.openai_embeddings.wire import EmbeddingList, EmbeddingRequest


def make_protocol(decoder: EmbeddingDecoder) -> WireProtocol:
    """Return the protocol around a decoder, which holds its source of ids."""
    return WireProtocol(
        name="openai-embeddings",
        endpoints=(
            Exchange(
                path="/v1/embeddings",
                decode=decoder.decode,
                accepts=EmbeddingRequest,
                returns=EmbeddingList,
                summary="Turn texts into vectors",
            ),
        ),
        render_error=openai_error.render,
        error=openai_error.ErrorBody,
        fields=FIELDS,
        prefixes=("/v1/embeddings",),
    )


@hookimpl
def mlxp_protocols() -> list[WireProtocol]:
    """Return the one protocol."""
    return [make_protocol(EmbeddingDecoder(lambda: f"embd-{uuid.uuid4().hex}"))]
