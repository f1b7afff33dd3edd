"""Bodies -> what is asked of the engine."""

import math
from collections.abc import Callable
from typing import Literal

import msgspec
from msgspec import Raw

from mlxp_core.contracts import Decoded, Exchanged
from mlxp_core.errors import BadRequest
from mlxp_core.types import (
    Forecast,
    ForecastRequest,
    GenerateRequest,
    Message,
    Sampling,
    Text,
    WireRequest,
    WireResponse,
)
from mlxp_curves.body import read
from mlxp_curves.samples import SampleEncoder
from mlxp_curves.wire import Candidate, GenerateBody, Recipe, Signal, SignalRequest

BINS = 80
LOWEST = math.log(1e-6)
"""Where the bins begin: a probability of a ten-thousandth of a per cent."""

_SAMPLES, _MOST_SAMPLES = 3, 8
_LENGTH, _LONGEST = 80, 256

_NAMES = {"choices": "n", "stages.curve": "curve", "stages.hlg": "hlg"}
"""Field of a request -> what this surface calls it, where that differs."""

Mode = Literal["default", "curve", "hlg"]


class CurveDecoder:
    """Decodes the bodies of both endpoints.

    Args:
        new_id: makes a unique request id.
        usual: says how a model's tokens are drawn for requests that do not say; ``None`` = not known.
    """

    def __init__(self, new_id: Callable[[], str], usual: Callable[[str], Recipe | None]) -> None:
        self._new_id = new_id
        self._usual = usual

    def signal(self, request: WireRequest) -> Exchanged[Forecast]:
        """Return the question about a prompt's next token.

        Raises:
            BadRequest: anything wrong with the body.
        """
        body, unknown = read(request.body, SignalRequest)
        asked = ForecastRequest(
            id=self._new_id(),
            model=body.model or "",
            prompt=_said(body.prompt),
            thinking=body.thinking,
            bins=BINS,
            lowest=LOWEST,
            likeliest=body.likeliest or 0,
        )
        return Exchanged(asked, _tell, unknown)

    def generate(self, request: WireRequest) -> Decoded:
        """Return the request for samples.

        Raises:
            BadRequest: anything wrong with the body.
        """
        body, unknown = read(request.body, GenerateBody)
        mode, stages = _stages(body)
        asked = GenerateRequest(
            id=self._new_id(),
            model=body.model or "",
            prompt=_said(body.prompt),
            sampling=Sampling(seed=None if body.seed is None else body.seed % 2**32, stages=stages),
            thinking=body.thinking,
            max_tokens=_between(body.max_tokens, _LENGTH, _LONGEST),
            choices=_between(body.n, _SAMPLES, _MOST_SAMPLES),
        )
        return Decoded(asked, SampleEncoder(mode, asked.choices, self._usual), unknown, _NAMES)


def _said(prompt: str) -> tuple[Message, ...]:
    return (Message("user", (Text(prompt),)),)


def _stages(body: GenerateBody) -> tuple[Mode, dict[str, Raw]]:
    if body.curve is not None and body.hlg is not None:
        raise BadRequest("curve and hlg are two ways to draw; send one of them", param="hlg")
    if body.default or (body.curve is None and body.hlg is None):
        return "default", {}
    if body.curve is not None:
        return "curve", {"curve": Raw(msgspec.json.encode(body.curve))}
    return "hlg", {"hlg": Raw(msgspec.json.encode(body.hlg))}


def _between(asked: int | None, usual: int, most: int) -> int:
    return usual if asked is None else min(most, max(1, asked))


def _tell(told: Forecast) -> WireResponse:
    body = Signal(
        bins=told.counts,
        vocab=sum(told.counts),
        model=told.model,
        tokens=told.tokens,
        likeliest=tuple(Candidate(each.token, each.text, each.logprob) for each in told.likeliest),
    )
    return WireResponse(body=msgspec.json.encode(body))
