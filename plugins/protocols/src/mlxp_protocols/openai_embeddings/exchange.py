"""An embeddings request: bytes -> what is asked of the engine; vectors -> bytes."""

import base64
import struct
from collections.abc import Callable

import msgspec

from mlxp_core.contracts import Exchanged
from mlxp_core.types import Embedded, EmbedRequest, WireRequest, WireResponse
from mlxp_protocols.body import BodyReader
from mlxp_protocols.openai_embeddings import wire
from mlxp_protocols.openai_embeddings.fields import FIELDS, HINTS, NAMES
from mlxp_protocols.token_lists import read_prompts

Form = Callable[[tuple[float, ...]], tuple[float, ...] | str]


class EmbeddingDecoder:
    """Decodes embeddings requests.

    Args:
        new_id: makes a unique request id.
    """

    def __init__(self, new_id: Callable[[], str]) -> None:
        self._new_id = new_id
        self._reader = BodyReader(wire.EmbeddingRequest, FIELDS, HINTS)

    def decode(self, request: WireRequest) -> Exchanged[Embedded]:
        """Return the question, how its answer is written, and the names of unknown fields.

        Raises:
            BadRequest: anything wrong with the body; ``param`` names the field.
        """
        body, warnings = self._reader.read(request.body)
        asked = EmbedRequest(
            id=self._new_id(),
            model=body.model or "",
            inputs=read_prompts(body.input, "input", HINTS["input"]),
            dimensions=body.dimensions,
        )
        return Exchanged(
            asked, render_base64 if body.encoding_format == "base64" else render_floats, warnings, NAMES
        )


def render_floats(answer: Embedded) -> WireResponse:
    """Write each vector as numbers."""
    return _render(answer, lambda vector: vector)


def render_base64(answer: Embedded) -> WireResponse:
    """Write each vector as the base64 of its float32 numbers, lowest byte first."""
    return _render(answer, lambda vector: base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode())


def _render(answer: Embedded, form: Form) -> WireResponse:
    vectors = [
        wire.Embedding(index=index, embedding=form(vector)) for index, vector in enumerate(answer.vectors)
    ]
    usage = wire.Usage(answer.tokens, answer.tokens)
    body = wire.EmbeddingList(data=vectors, model=answer.model, usage=usage)
    return WireResponse(body=msgspec.json.encode(body))
