"""The JSON of embeddings; unknown fields are ignored here and reported by the manifest."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

TokenId = Annotated[int, Meta(ge=0)]
Text = Annotated[str, Meta(min_length=1)]
Tokens = Annotated[list[TokenId], Meta(min_length=1)]


class EmbeddingRequest(Struct, frozen=True, kw_only=True):
    """The body of ``POST /v1/embeddings``.

    ``input`` is a text, a list of texts, token ids, or a list of lists of token ids.
    """

    input: Text | Annotated[list[Text | TokenId | Tokens], Meta(min_length=1, max_length=2048)]
    model: str | None = None
    encoding_format: Literal["float", "base64"] | None = None
    dimensions: Annotated[int, Meta(ge=1)] | None = None


class Embedding(Struct, frozen=True, kw_only=True):
    """The vector of the input number ``index``; as base64, of float32 numbers with the lowest byte first."""

    object: Literal["embedding"] = "embedding"
    index: int
    embedding: tuple[float, ...] | str


class Usage(Struct, frozen=True):
    """Tokens of all inputs."""

    prompt_tokens: int
    total_tokens: int


class EmbeddingList(Struct, frozen=True, kw_only=True):
    """The body of an answer: a vector for each input, in their order."""

    object: Literal["list"] = "list"
    data: list[Embedding]
    model: str
    usage: Usage
