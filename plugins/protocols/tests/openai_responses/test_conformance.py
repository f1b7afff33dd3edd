"""Responses against the shared kit, read back with the official client's own types."""

from typing import ClassVar

import pytest
from openai.types.responses import InputTokenCountResponse, Response, ResponseStreamEvent
from pydantic import TypeAdapter

from mlxp_core.testing.exchange import ExchangeSuite
from mlxp_core.testing.plugin import PluginSuite
from mlxp_core.testing.protocol import ProtocolSuite, read_sse
from mlxp_core.testing.replies import Answer, Reply
from mlxp_core.types import Counted, CountRequest, Usage
from mlxp_protocols.openai_responses import plugin as module
from mlxp_protocols.openai_responses.decode import ResponsesDecoder
from mlxp_protocols.openai_responses.queries import KeptResponses
from mlxp_protocols.openai_responses.store import ResponseStore

EVENTS = TypeAdapter(ResponseStreamEvent)


def _usage(usage):
    return usage and Usage(
        prompt=usage.input_tokens,
        cached=usage.input_tokens_details.cached_tokens,
        completion=usage.output_tokens,
        thinking=usage.output_tokens_details.reasoning_tokens,
    )


def _reason(response):
    match response.status:
        case "completed":
            return "calls" if any(item.type == "function_call" for item in response.output) else "stop"
        case "incomplete":
            assert response.incomplete_details.reason == "max_output_tokens"
            return "length"
        case "cancelled":
            return "cancelled"
        case "failed":
            return None


def read_response(response):
    """Return what a client has that looks at the final object alone."""
    parts = [part for item in response.output if item.type == "message" for part in item.content]
    thoughts = [part for item in response.output if item.type == "reasoning" for part in item.summary]
    calls = [item for item in response.output if item.type == "function_call"]
    assert all(call.status == "completed" for call in calls)
    answer = Answer(
        text="".join(part.text for part in parts),
        thinking="".join(part.text for part in thoughts),
        calls=tuple((call.name, call.arguments) for call in calls),
        reason=_reason(response),
        scores=tuple(score.logprob for part in parts for score in part.logprobs),
    )
    failed = response.status == "failed"
    return Reply(
        answers=() if failed and not response.output else (answer,),
        usage=_usage(response.usage),
        error=response.error.message if failed else None,
    )


class Listener:
    """Adds up a stream as clients do, and is strict about its order."""

    def __init__(self):
        self.done = []
        self.open = None
        self.said = ""
        self.scores = []

    def hear(self, event):
        at = getattr(event, "output_index", None)
        match event.type:
            case "response.output_item.added":
                assert at == len(self.done)
                assert self.open is None
                self.open, self.said, self.scores = event.item, "", []
            case "response.output_item.done":
                assert event.item.id == self.open.id
                assert at == len(self.done)
                self.done.append(event.item)
                self.open = None
            case "response.content_part.added" | "response.reasoning_summary_part.added":
                assert (event.item_id, event.part.text) == (self.open.id, "")
            case "response.output_text.delta":
                self.scores += [score.logprob for score in event.logprobs]
                self.said += event.delta
            case "response.reasoning_summary_text.delta" | "response.function_call_arguments.delta":
                assert event.item_id == self.open.id
                self.said += event.delta
            case "response.output_text.done":
                told = [score.logprob for score in event.logprobs]
                assert told[: len(self.scores)] == self.scores
                assert event.text == self.said
            case "response.reasoning_summary_text.done":
                assert event.text == self.said
            case "response.function_call_arguments.done":
                assert event.arguments == self.said
            case "response.content_part.done" | "response.reasoning_summary_part.done":
                assert (event.item_id, event.part.text) == (self.open.id, self.said)


def read_stream(said):
    frames = read_sse(said)
    events = [EVENTS.validate_json(data, strict=True) for _, data in frames]
    assert [name for name, _ in frames] == [event.type for event in events]
    assert [event.sequence_number for event in events] == list(range(len(events)))
    assert [event.type for event in events[:2]] == ["response.created", "response.in_progress"]
    listener = Listener()
    for event in events[2:-1]:
        listener.hear(event)
    last = events[-1]
    assert last.type in {"response.completed", "response.incomplete", "response.failed"}
    if last.type != "response.failed":
        assert listener.open is None
        assert listener.done == last.response.output
        assert (last.type == "response.completed") == (last.response.status == "completed")
    assert last.response.id == events[0].response.id
    return read_response(last.response)


def fixed_protocol():
    store = ResponseStore(keep_s=3600.0, keep_bytes=2**20, clock=lambda: 0.0)
    decoder = ResponsesDecoder(store, lambda: "1", lambda: 1760000000.5)
    return module.make_protocol(decoder, KeptResponses(store))


class TestResponses(ProtocolSuite):
    path = "/v1/responses"
    required = frozenset({"input"})
    most_choices = 1
    reasons: ClassVar = {}

    @pytest.fixture
    def protocol(self):
        return fixed_protocol()

    def body(self, *, stream, choices=1, scores=False):
        asked = {"include": ["message.output_text.logprobs"], "top_logprobs": 2} if scores else {}
        return {"input": "hi", "stream": stream, **asked}

    def read_back(self, said, *, stream):
        return read_stream(said) if stream else read_response(Response.model_validate_json(said, strict=True))


class TestInputTokens(ExchangeSuite):
    path = "/v1/responses/input_tokens"
    asks = CountRequest
    required = frozenset({"input"})

    @pytest.fixture
    def protocol(self):
        return fixed_protocol()

    def body(self):
        return {"input": "hi"}

    def answers(self):
        return [Counted(model="m", tokens=tokens) for tokens in (1, 17, 2**40)]

    def read_back(self, said):
        return InputTokenCountResponse.model_validate_json(said, strict=True).input_tokens

    def told(self, answer):
        return answer.tokens


class TestPlugin(PluginSuite):
    @pytest.fixture
    def plugin(self):
        return module
