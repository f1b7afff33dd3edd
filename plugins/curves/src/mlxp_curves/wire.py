"""The JSON of the two endpoints; unknown fields are ignored here and reported."""

from typing import Annotated, Literal

from msgspec import Meta, Struct, field

from mlxp_core.types import Reason
from mlxp_curves.curve import Curve
from mlxp_curves.hlg import Hlg

Prompt = Annotated[str, Meta(min_length=1)]
Count = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]


class SignalRequest(Struct, frozen=True, kw_only=True):
    """The body of ``POST /v1/curves/signal``.

    Attributes:
        prompt: what a user says; one message.
        thinking: as for an answer; null = as the server is set.
        likeliest: how many of the likeliest tokens to name, 0 to 100.
    """

    prompt: Prompt
    model: str | None = None
    thinking: bool | None = None
    likeliest: Annotated[int, Meta(ge=0, le=100)] | None = None


class Candidate(Struct, frozen=True):
    """A token, what it shows as, and its log-probability."""

    token: int
    text: str
    logprob: float


class Signal(Struct, frozen=True, kw_only=True):
    """The distribution of the token after a prompt.

    Attributes:
        bins: 80 counts of tokens by log-probability, from ``ln 1e-6`` up to 0; less likely ones are in the first.
        vocab: number of tokens, the sum of all bins.
        tokens: of the prompt.
        likeliest: the likeliest tokens, likeliest first, as many as were asked for.
    """

    bins: tuple[int, ...]
    vocab: int
    model: str
    tokens: int
    likeliest: tuple[Candidate, ...]


class GenerateBody(Struct, frozen=True, kw_only=True):
    """The body of ``POST /v1/curves/generate``.

    Attributes:
        prompt: what a user says; one message.
        curve: what to draw by; null = as the server draws.
        hlg: likewise; not both.
        default: true = as the server draws, whatever ``curve`` and ``hlg`` say.
        n: samples, brought into 1 to 8; 3 by default.
        max_tokens: of each, brought into 1 to 256; 80 by default.
        seed: of the first one, modulo 2 ** 32; sample ``i`` draws with ``seed + i``.
        thinking: null = as the server is set.
    """

    prompt: Prompt
    model: str | None = None
    curve: Curve | None = None
    hlg: Hlg | None = None
    default: bool | None = None
    n: Count | None = None
    max_tokens: Count | None = None
    seed: int | None = None
    thinking: bool | None = None


class Sample(Struct, frozen=True, kw_only=True):
    """One answer.

    Attributes:
        text: without blanks around it.
        junk: it looks like noise: foreign scripts, broken characters, or tokens that no text has.
        thinking: what came before the text.
    """

    text: str
    junk: bool
    thinking: str
    finish_reason: Reason


class TokenCounts(Struct, frozen=True, kw_only=True):
    """Tokens of the prompt, of it from the prompt cache, of all samples, and of these inside thinking."""

    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    thinking_tokens: int


class Recipe(Struct, frozen=True, kw_only=True, rename="camel"):
    """How the server draws for requests that do not say."""

    temperature: float | None
    top_p: float | None
    top_k: int | None


class Samples(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The body of an answer: how the samples were drawn, and what they are; ``recipe`` in the mode ``default`` only."""

    mode: Literal["default", "curve", "hlg"]
    recipe: Recipe | None = None
    n: int
    seed: int
    model: str
    samples: tuple[Sample, ...]
    usage: TokenCounts


class Fault(Struct, frozen=True):
    """What went wrong; ``param`` names the field at fault, ``code`` is stable."""

    message: str = field(name="error")
    code: str
    param: str | None
