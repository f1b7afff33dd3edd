"""The JSON of text completions; unknown fields are ignored here and reported by the manifest.

JSON null means "not said" everywhere, which is why nearly every field may be null.
"""

from typing import Annotated, Literal

from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from mlxp_protocols.openai_answer import Extension, TokenUsage

ABSENT = Raw(b"null")
"""What an unread JSON value is when nothing was sent."""

TokenId = Annotated[int, Meta(ge=0)]
Bias = Annotated[float, Meta(ge=-100, le=100)]
StopString = Annotated[str, Meta(min_length=1)]
Tokens = Annotated[list[TokenId], Meta(min_length=1)]
FinishReason = Literal["stop", "length"]


class StreamOptions(Struct, frozen=True):
    """How to stream; ``include_obfuscation`` has no effect."""

    include_usage: bool | None = None
    include_obfuscation: bool | None = None


class CompletionRequest(Struct, frozen=True, kw_only=True):
    """The body of ``POST /v1/completions``, with our extensions at the end.

    ``prompt`` is a text, a list of texts, token ids, or a list of lists of token ids.
    """

    prompt: str | Annotated[list[str | TokenId | Tokens], Meta(min_length=1)]
    model: str | None = None
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    max_tokens: Annotated[int, Meta(ge=1)] | None = None
    temperature: Annotated[float, Meta(ge=0, le=2)] | None = None
    top_p: Annotated[float, Meta(ge=0, le=1)] | None = None
    seed: int | None = None
    stop: StopString | Annotated[list[StopString], Meta(max_length=16)] | None = None
    n: Annotated[int, Meta(ge=1, le=8)] | None = None
    best_of: int | None = None
    echo: bool | None = None
    logprobs: Annotated[int, Meta(ge=0, le=5)] | None = None
    logit_bias: dict[TokenId, Bias] | None = None
    presence_penalty: Annotated[float, Meta(ge=-2, le=2)] | None = None
    frequency_penalty: Annotated[float, Meta(ge=-2, le=2)] | None = None
    top_k: Annotated[int, Meta(ge=0)] | None = None
    min_p: Annotated[float, Meta(ge=0, le=1)] | None = None
    repetition_penalty: Annotated[float, Meta(gt=0)] | None = None
    repetition_window: Annotated[int, Meta(ge=1)] | None = None
    adapter: str | None = None
    sampler_stages: dict[str, Raw] | None = None
    explain_cache: bool | None = None
    guided_json: Raw = ABSENT
    guided_regex: str | None = None
    guided_choice: list[str] | None = None
    guided_grammar: str | None = None


class Logprobs(Struct, frozen=True):
    """The scores of some tokens of the answer; each list has one entry a token.

    Attributes:
        top_logprobs: the likeliest tokens and the chosen one, with their log-probabilities.
        text_offset: where in the answer the token begins, in characters.
    """

    tokens: list[str]
    token_logprobs: list[float]
    top_logprobs: list[dict[str, float]]
    text_offset: list[int]


class Choice(Struct, frozen=True, kw_only=True):
    """One of the answers; choice ``p * n + i`` is the ``i``-th answer to prompt ``p``."""

    index: int
    text: str
    logprobs: Logprobs | None = None
    finish_reason: FinishReason | None = None
    mlxp: Extension | UnsetType = UNSET


class Completion(Struct, frozen=True, kw_only=True):
    """The body of a whole answer, and of each frame of a stream.

    With ``include_usage``, ``usage`` is null in all frames but the last; without, no frame has it.
    """

    id: str
    object: Literal["text_completion"] = "text_completion"
    created: int
    model: str
    system_fingerprint: str
    choices: list[Choice]
    usage: TokenUsage | UnsetType | None = UNSET
