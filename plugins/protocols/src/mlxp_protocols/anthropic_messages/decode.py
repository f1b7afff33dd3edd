"""A messages request: bytes -> what is asked of the engine, and the encoder that answers. Defaults are the desk's."""

from collections.abc import Callable, Mapping

import msgspec
from msgspec import Raw

from mlxp_core.contracts import Decoded, Encoder, Exchanged
from mlxp_core.errors import BadRequest
from mlxp_core.types import (
    Counted,
    CountRequest,
    GenerateRequest,
    OutputShape,
    Sampling,
    WireRequest,
    WireResponse,
)
from mlxp_protocols import extensions, guided
from mlxp_protocols.anthropic_messages import errors, wire, wire_answer
from mlxp_protocols.anthropic_messages.decode_messages import read_conversation
from mlxp_protocols.anthropic_messages.decode_tools import read_tools
from mlxp_protocols.anthropic_messages.encode import Head
from mlxp_protocols.anthropic_messages.encode_stream import StreamEncoder
from mlxp_protocols.anthropic_messages.encode_whole import WholeEncoder
from mlxp_protocols.anthropic_messages.fields import FIELDS, HINTS, NAMES
from mlxp_protocols.anthropic_messages.wire_blocks import ABSENT
from mlxp_protocols.body import BodyReader, read_value

_OLDER_PLACE = "output_format"


class MessagesDecoder:
    """Decodes requests for messages and for their number of tokens.

    Args:
        new_id: makes a unique request id.
    """

    def __init__(self, new_id: Callable[[], str]) -> None:
        self._new_id = new_id
        self._requests = BodyReader(wire.MessagesRequest, FIELDS, HINTS)
        self._counts = BodyReader(wire.CountRequest, FIELDS, HINTS)

    def decode(self, request: WireRequest) -> Decoded:
        """Return the request, its encoder, and what in it has no effect.

        Raises:
            BadRequest: anything wrong with the body; ``param`` names the field.
        """
        body, unknown = self._requests.read(request.body)
        tools, tool_choice, left_out = read_tools(body.tools, body.tool_choice)
        shape, place = guided.output(body, _output(body), _place_of_output(body))
        asked = GenerateRequest(
            id=self._new_id(),
            model=body.model or "",
            prompt=read_conversation(body.system, body.messages),
            tools=tools,
            tool_choice=tool_choice,
            sampling=_sampling(body),
            thinking=_thinking(body.thinking, body.chat_template_kwargs),
            thinking_budget=_budget(body.thinking),
            output=shape,
            max_tokens=body.max_tokens,
            stop=tuple(body.stop_sequences or ()),
            adapters=extensions.adapters(body.adapter),
            template_args=extensions.template_args(body.chat_template_kwargs),
        )
        names = {**NAMES, "output": place}
        return Decoded(asked, _encoder(asked, body, request.headers), (*unknown, *left_out), names)

    def count(self, request: WireRequest) -> Exchanged[Counted]:
        """Return the question how many tokens a conversation has; its answer is ``{"input_tokens": n}``.

        Raises:
            BadRequest: anything wrong with the body; ``param`` names the field.
        """
        body, unknown = self._counts.read(request.body)
        tools, tool_choice, left_out = read_tools(body.tools, body.tool_choice)
        question = CountRequest(
            id=self._new_id(),
            model=body.model or "",
            messages=read_conversation(body.system, body.messages),
            tools=tools,
            tool_choice=tool_choice,
            thinking=_thinking(body.thinking, body.chat_template_kwargs),
            template_args=extensions.template_args(body.chat_template_kwargs),
        )
        return Exchanged(question, _counted, (*unknown, *left_out), NAMES)


def _counted(answer: Counted) -> WireResponse:
    return WireResponse(body=msgspec.json.encode(wire_answer.TokenCount(answer.tokens)))


def _encoder(asked: GenerateRequest, body: wire.MessagesRequest, headers: Mapping[str, str]) -> Encoder:
    head = Head(
        id=asked.id,
        model=asked.model,
        request_id=headers.get(errors.REQUEST_ID_HEADER),
        shows_thinking=body.thinking is None or body.thinking.display != "omitted",
        explain_cache=bool(body.explain_cache),
    )
    return StreamEncoder(head) if body.stream else WholeEncoder(head)


def _sampling(body: wire.MessagesRequest) -> Sampling:
    return Sampling(
        temperature=body.temperature,
        top_p=body.top_p,
        top_k=body.top_k,
        seed=body.seed,
        stages=extensions.stages(body.sampler_stages),
    )


def _thinking(
    config: wire.ThinkingConfig | None, kwargs: Mapping[str, extensions.Primitive | None] | None
) -> bool | None:
    """Return what ``enable_thinking`` says, else what ``thinking`` says."""
    switch = extensions.thinking(kwargs, None)
    if switch is None and config is not None:
        return config.type != "disabled"
    return switch


def _budget(config: wire.ThinkingConfig | None) -> int | None:
    return None if config is None or config.type == "disabled" else config.budget_tokens


def _output(body: wire.MessagesRequest) -> OutputShape:
    """Return the shape; kinds we do not know go on whole, for the plugin that brings them."""
    config, place = body.output_config, _place_of_output(body)
    given = body.output_format if config is None or place == _OLDER_PLACE else config.format
    if given == ABSENT:
        return OutputShape()
    match read_value(given, wire.OutputFormat, place):
        case wire.OutputFormat(type="json_schema", schema=schema):
            return OutputShape("json_schema", _schema(schema, f"{place}.schema"))
        case wire.OutputFormat(type=kind):
            return OutputShape(kind, given.copy())


def _place_of_output(body: wire.MessagesRequest) -> str:
    """Return where the body says what shape the answer must have."""
    told = body.output_config is not None and body.output_config.format != ABSENT
    return NAMES["output"] if told else _OLDER_PLACE


def _schema(schema: Raw, place: str) -> Raw:
    if schema == ABSENT:
        raise BadRequest(f"{place}: is missing; send the JSON schema of the answer", param=place)
    return schema.copy()
