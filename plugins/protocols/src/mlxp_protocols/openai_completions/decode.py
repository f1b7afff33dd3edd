"""A completions request: bytes -> what is asked of the engine, and the encoder that answers."""

from collections.abc import Callable

from mlxp_core.contracts import Decoded, Encoder
from mlxp_core.errors import BadRequest
from mlxp_core.types import GenerateRequest, OutputShape, Sampling, WireRequest
from mlxp_protocols import extensions, guided
from mlxp_protocols.body import BodyReader
from mlxp_protocols.openai_answer import Head
from mlxp_protocols.openai_completions import wire
from mlxp_protocols.openai_completions.encode_chunks import ChunkEncoder
from mlxp_protocols.openai_completions.encode_whole import WholeEncoder
from mlxp_protocols.openai_completions.fields import FIELDS, HINTS, NAMES
from mlxp_protocols.token_lists import read_prompts

_UNSAID = Sampling()
_MAX_TOKENS = 16
"""Part of this API, whose reference documents it; so it is said here and not left to the deployment."""


class CompletionDecoder:
    """Decodes completions requests.

    Args:
        new_id: makes a unique request id.
        now: the clock, in seconds since 1970.
        fingerprint: names this server in answers.
    """

    def __init__(self, new_id: Callable[[], str], now: Callable[[], float], fingerprint: str) -> None:
        self._new_id = new_id
        self._now = now
        self._fingerprint = fingerprint
        self._reader = BodyReader(wire.CompletionRequest, FIELDS, HINTS)

    def decode(self, request: WireRequest) -> Decoded:
        """Return the request, its encoder and the names of unknown fields.

        Raises:
            BadRequest: anything wrong with the body; ``param`` names the field.
        """
        body, warnings = self._reader.read(request.body)
        _check_together(body)
        first, *others = read_prompts(body.prompt, "prompt", HINTS["prompt"])
        shape, place = guided.output(body, OutputShape(), "guided_json")
        asked = GenerateRequest(
            id=self._new_id(),
            model=body.model or "",
            prompt=first,
            further_prompts=tuple(others),
            echo=bool(body.echo),
            output=shape,
            sampling=_sampling(body),
            max_tokens=_MAX_TOKENS if body.max_tokens is None else body.max_tokens,
            stop=_stop(body.stop),
            adapters=extensions.adapters(body.adapter),
            top_scores=body.logprobs,
            choices=1 if body.n is None else body.n,
        )
        return Decoded(asked, self._encoder(asked, body), warnings, {**NAMES, "output": place})

    def _encoder(self, asked: GenerateRequest, body: wire.CompletionRequest) -> Encoder:
        prompts = 1 + len(asked.further_prompts)
        head = Head(
            asked.id,
            int(self._now()),
            asked.model,
            self._fingerprint,
            asked.choices,
            prompts,
            explain_cache=bool(body.explain_cache),
        )
        if body.stream:
            options = body.stream_options
            return ChunkEncoder(head, include_usage=bool(options and options.include_usage))
        return WholeEncoder(head)


def _check_together(body: wire.CompletionRequest) -> None:
    """Refuse fields that are fine alone and not together."""
    choices = 1 if body.n is None else body.n
    if body.best_of is not None and body.best_of != choices:
        raise BadRequest(
            f"best_of: {body.best_of} answers to choose {choices} from are not supported; "
            "leave it out, or send as many as n and choose yourself",
            param="best_of",
        )
    if body.echo and body.logprobs is not None:
        raise BadRequest(
            "echo: not supported together with logprobs, as a prompt is not scored; leave one of them out",
            param="echo",
        )


def _sampling(body: wire.CompletionRequest) -> Sampling:
    window = body.repetition_window
    return Sampling(
        temperature=body.temperature,
        top_p=body.top_p,
        top_k=body.top_k,
        min_p=body.min_p,
        seed=body.seed,
        repetition_penalty=body.repetition_penalty,
        repetition_window=_UNSAID.repetition_window if window is None else window,
        presence_penalty=body.presence_penalty or _UNSAID.presence_penalty,
        frequency_penalty=body.frequency_penalty or _UNSAID.frequency_penalty,
        logit_bias=body.logit_bias or {},
        stages=extensions.stages(body.sampler_stages),
    )


def _stop(stop: str | list[str] | None) -> tuple[str, ...]:
    match stop:
        case None:
            return ()
        case str():
            return (stop,)
        case list():
            return tuple(stop)
