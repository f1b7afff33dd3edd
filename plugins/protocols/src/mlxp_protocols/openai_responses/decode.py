"""A request for a response, or for its number of tokens: bytes -> what is asked. Defaults are the desk's."""

from collections.abc import Callable
from functools import partial

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
from mlxp_protocols.body import BodyReader, read_value
from mlxp_protocols.openai_responses import wire, wire_answer
from mlxp_protocols.openai_responses.decode_input import Input, read_input
from mlxp_protocols.openai_responses.decode_tools import Tools, read_tools
from mlxp_protocols.openai_responses.encode import Teller
from mlxp_protocols.openai_responses.encode_stream import StreamEncoder
from mlxp_protocols.openai_responses.encode_whole import WholeEncoder
from mlxp_protocols.openai_responses.fields import FIELDS, HINTS, NAMES
from mlxp_protocols.openai_responses.listed import as_listed
from mlxp_protocols.openai_responses.store import ResponseStore, Turn

_LOGPROBS = "message.output_text.logprobs"
_PLAIN_TEXT = Raw(b'{"type":"text"}')
_UNSAID = Sampling()
_OLDER_NAMES = {**NAMES, "max_tokens": "max_tokens"}
_Body = wire.ResponsesRequest | wire.CountRequest


class ResponsesDecoder:
    """Decodes requests for responses and for their number of tokens.

    Args:
        store: where earlier responses are, and where new ones go.
        new_stem: makes what is unique in the ids of a response and its items.
        now: the clock, in seconds since 1970.
    """

    def __init__(self, store: ResponseStore, new_stem: Callable[[], str], now: Callable[[], float]) -> None:
        self._store = store
        self._new_stem = new_stem
        self._now = now
        self._requests = BodyReader(wire.ResponsesRequest, FIELDS, HINTS)
        self._counts = BodyReader(wire.CountRequest, FIELDS, HINTS)

    def decode(self, request: WireRequest) -> Decoded:
        """Return the request, its encoder and what was ignored.

        Raises:
            BadRequest: anything wrong with the body; ``param`` names the field.
        """
        body, warnings = self._requests.read(request.body)
        if body.background:
            raise BadRequest(
                "background: true is not supported; leave it out, and stream the answer", param="background"
            )
        given = read_input(body, self._store)
        tools = _tools(body)
        stem = self._new_stem()
        shape, place = guided.output(body, _output(body.text), NAMES["output"])
        asked = GenerateRequest(
            id=f"resp_{stem}",
            model=body.model or "",
            prompt=given.messages,
            tools=tools.specs,
            tool_choice=tools.choice,
            sampling=_sampling(body),
            thinking=_thinking(body),
            thinking_budget=body.thinking_budget,
            output=shape,
            max_tokens=body.max_tokens if body.max_output_tokens is None else body.max_output_tokens,
            adapters=extensions.adapters(body.adapter),
            top_scores=_top_scores(body),
            template_args=extensions.template_args(body.chat_template_kwargs),
        )
        ignored = (*warnings, *given.ignored, *tools.ignored, *_without_effect(body))
        names = NAMES if body.max_output_tokens is not None or body.max_tokens is None else _OLDER_NAMES
        return Decoded(asked, self._encoder(body, given, tools, stem), ignored, {**names, "output": place})

    def count(self, request: WireRequest) -> Exchanged[Counted]:
        """Return the question how many tokens a response would read; its answer is ``{"input_tokens": n, ...}``.

        Raises:
            BadRequest: anything wrong with the body; ``param`` names the field.
        """
        body, warnings = self._counts.read(request.body)
        given = read_input(body, self._store)
        tools = _tools(body)
        question = CountRequest(
            id=f"count_{self._new_stem()}",
            model=body.model or "",
            messages=given.messages,
            tools=tools.specs,
            tool_choice=tools.choice,
            thinking=_thinking(body),
            template_args=extensions.template_args(body.chat_template_kwargs),
        )
        ignored = (*warnings, *given.ignored, *tools.ignored, *_without_effect(body))
        return Exchanged(question, _counted, ignored, NAMES)

    def _encoder(self, body: wire.ResponsesRequest, given: Input, tools: Tools, stem: str) -> Encoder:
        blank = _blank(body, tools, f"resp_{stem}", int(self._now()))
        keep = partial(self._keep, given, stem) if blank.store else lambda _: None
        explain = bool(body.explain_cache)
        teller = Teller(blank, stem, tools.offers, now=self._now, keep=keep, explain_cache=explain)
        return StreamEncoder(teller) if body.stream else WholeEncoder(teller)

    def _keep(self, given: Input, stem: str, response: wire_answer.Response) -> None:
        listed = tuple(
            as_listed(item, f"input[{at}]", f"{stem}_in{at}") for at, item in enumerate(given.items)
        )
        self._store.put(Turn(response.id, msgspec.json.encode(response), listed, given.previous))


def _counted(answer: Counted) -> WireResponse:
    return WireResponse(body=msgspec.json.encode(wire_answer.TokenCount(input_tokens=answer.tokens)))


def _blank(body: wire.ResponsesRequest, tools: Tools, response_id: str, created: int) -> wire_answer.Response:
    """Return the response before anything was said: what the request asked, echoed."""
    return wire_answer.Response(
        id=response_id,
        created_at=created,
        status="in_progress",
        instructions=body.instructions,
        max_output_tokens=body.max_output_tokens,
        max_tool_calls=body.max_tool_calls,
        model=body.model or "",
        parallel_tool_calls=tools.choice.parallel,
        previous_response_id=body.previous_response_id,
        prompt_cache_key=body.prompt_cache_key,
        reasoning=wire_answer.ReasoningEcho(_reasoning(body).effort, _reasoning(body).summary),
        safety_identifier=body.safety_identifier,
        store=body.store is not False,
        temperature=body.temperature,
        text=_text_echo(body.text),
        tool_choice=Raw(b'"auto"') if body.tool_choice == wire.ABSENT else body.tool_choice.copy(),
        tools=tools.echo,
        top_logprobs=body.top_logprobs or 0,
        top_p=body.top_p,
        truncation=body.truncation or "disabled",
        user=body.user,
        metadata=body.metadata or {},
    )


def _text_echo(text: wire.TextConfig | None) -> wire_answer.TextEcho:
    if text is None:
        return wire_answer.TextEcho(_PLAIN_TEXT)
    shape = _PLAIN_TEXT if text.format == wire.ABSENT else text.format.copy()
    return wire_answer.TextEcho(shape, text.verbosity or "medium")


def _tools(body: _Body) -> Tools:
    return read_tools(body.tools, body.tool_choice, parallel=body.parallel_tool_calls is not False)


def _reasoning(body: _Body) -> wire.Reasoning:
    return body.reasoning or wire.Reasoning()


def _thinking(body: _Body) -> bool | None:
    return extensions.thinking(body.chat_template_kwargs, _reasoning(body).effort)


def _sampling(body: wire.ResponsesRequest) -> Sampling:
    window = body.repetition_window
    return Sampling(
        temperature=body.temperature,
        top_p=body.top_p,
        top_k=body.top_k,
        min_p=body.min_p,
        seed=body.seed,
        repetition_penalty=body.repetition_penalty,
        repetition_window=_UNSAID.repetition_window if window is None else window,
        stages=extensions.stages(body.sampler_stages),
    )


def _top_scores(body: wire.ResponsesRequest) -> int | None:
    wanted = _LOGPROBS in (body.include or ())
    return body.top_logprobs or (0 if wanted else None)


def _output(text: wire.TextConfig | None) -> OutputShape:
    """Return the shape; kinds we do not know go on whole, for the plugin that brings them."""
    if text is None or text.format == wire.ABSENT:
        return OutputShape()
    place = "text.format"
    match read_value(text.format, wire.Format, place):
        case wire.Format(type="text"):
            return OutputShape()
        case wire.Format(type="json_object"):
            return OutputShape("json_object")
        case wire.Format(type="json_schema", schema=schema):
            if schema == wire.ABSENT:
                where = f"{place}.schema"
                raise BadRequest(f"{where}: is missing; send the JSON schema of the answer", param=where)
            return OutputShape("json_schema", schema.copy())
        case wire.Format(type=kind):
            return OutputShape(kind, text.format.copy())


def _without_effect(body: _Body) -> tuple[str, ...]:
    return ("truncation (auto)",) if body.truncation == "auto" else ()
