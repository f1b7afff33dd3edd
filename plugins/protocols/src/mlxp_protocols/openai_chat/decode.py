"""A chat request: bytes -> what is asked of the engine, and the encoder that answers. Defaults are the desk's."""

from collections.abc import Callable

from msgspec import Raw

from mlxp_core.contracts import Decoded, Encoder
from mlxp_core.errors import BadRequest
from mlxp_core.types import GenerateRequest, OutputShape, Sampling, WireRequest
from mlxp_protocols import extensions, guided
from mlxp_protocols.body import BodyReader, read_value
from mlxp_protocols.openai_answer import Head
from mlxp_protocols.openai_chat import wire
from mlxp_protocols.openai_chat.decode_messages import read_messages
from mlxp_protocols.openai_chat.decode_tools import read_tools
from mlxp_protocols.openai_chat.encode_chunks import ChunkEncoder
from mlxp_protocols.openai_chat.encode_whole import WholeEncoder
from mlxp_protocols.openai_chat.fields import FIELDS, HINTS, NAMES

_UNSAID = Sampling()
_COMPLETION_NAMES = {**NAMES, "max_tokens": "max_completion_tokens"}


class ChatDecoder:
    """Decodes chat requests.

    Args:
        new_id: makes a unique request id.
        now: the clock, in seconds since 1970.
        fingerprint: names this server in answers.
    """

    def __init__(self, new_id: Callable[[], str], now: Callable[[], float], fingerprint: str) -> None:
        self._new_id = new_id
        self._now = now
        self._fingerprint = fingerprint
        self._reader = BodyReader(wire.ChatRequest, FIELDS, HINTS)

    def decode(self, request: WireRequest) -> Decoded:
        """Return the request, its encoder and the names of unknown fields.

        Raises:
            BadRequest: anything wrong with the body; ``param`` names the field.
        """
        body, warnings = self._reader.read(request.body)
        tools, tool_choice = read_tools(body)
        shape, place = guided.output(body, _output(body.response_format), NAMES["output"])
        asked = GenerateRequest(
            id=self._new_id(),
            model=body.model or "",
            prompt=read_messages(body.messages),
            tools=tools,
            tool_choice=tool_choice,
            sampling=_sampling(body),
            thinking=extensions.thinking(body.chat_template_kwargs, body.reasoning_effort),
            thinking_budget=body.thinking_budget,
            output=shape,
            max_tokens=body.max_tokens if body.max_completion_tokens is None else body.max_completion_tokens,
            stop=_stop(body.stop),
            adapters=extensions.adapters(body.adapter),
            top_scores=_top_scores(body),
            choices=1 if body.n is None else body.n,
            template_args=extensions.template_args(body.chat_template_kwargs),
        )
        names = NAMES if body.max_completion_tokens is None else _COMPLETION_NAMES
        return Decoded(asked, self._encoder(asked, body), warnings, {**names, "output": place})

    def _encoder(self, asked: GenerateRequest, body: wire.ChatRequest) -> Encoder:
        head = Head(
            asked.id,
            int(self._now()),
            asked.model,
            self._fingerprint,
            asked.choices,
            explain_cache=bool(body.explain_cache),
        )
        if body.stream:
            options = body.stream_options
            return ChunkEncoder(head, include_usage=bool(options and options.include_usage))
        return WholeEncoder(head)


def _sampling(body: wire.ChatRequest) -> Sampling:
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


def _top_scores(body: wire.ChatRequest) -> int | None:
    if body.logprobs:
        return body.top_logprobs or 0
    if body.top_logprobs:
        raise BadRequest("top_logprobs: needs logprobs; send logprobs: true with it", param="top_logprobs")
    return None


def _stop(stop: str | list[str] | None) -> tuple[str, ...]:
    match stop:
        case None:
            return ()
        case str():
            return (stop,)
        case list():
            return tuple(stop)


def _output(given: Raw) -> OutputShape:
    """Return the shape; kinds we do not know go on whole, for the plugin that brings them."""
    if given == wire.ABSENT:
        return OutputShape()
    shape = read_value(given, wire.ResponseFormat, "response_format")
    match shape:
        case wire.ResponseFormat(type="text"):
            return OutputShape()
        case wire.ResponseFormat(type="json_object"):
            return OutputShape("json_object")
        case wire.ResponseFormat(type="json_schema", json_schema=schema):
            if schema is None or schema.schema == wire.ABSENT:
                place = "response_format.json_schema.schema"
                raise BadRequest(f"{place}: is missing; send the JSON schema of the answer", param=place)
            return OutputShape("json_schema", schema.schema.copy())
        case wire.ResponseFormat(type=kind):
            return OutputShape(kind, given.copy())
