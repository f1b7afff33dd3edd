"""Anthropic messages against the shared kit, read back with the official client's own types."""

import json
from typing import ClassVar

import pytest
from anthropic.types import Message, MessageTokensCount, RawMessageStreamEvent
from anthropic.types.shared import ErrorResponse
from pydantic import TypeAdapter

from mlxp_core.testing.exchange import ExchangeSuite
from mlxp_core.testing.plugin import PluginSuite
from mlxp_core.testing.protocol import ProtocolSuite, read_sse
from mlxp_core.testing.replies import Answer, Reply
from mlxp_core.types import Counted, CountRequest, Usage
from mlxp_protocols.anthropic_messages import plugin as module

REASONS = {"end_turn": "stop", "stop_sequence": "stop", "max_tokens": "length", "tool_use": "calls"}
EVENT = TypeAdapter(RawMessageStreamEvent)


def _usage(usage):
    assert usage.cache_creation_input_tokens == 0
    return Usage(
        prompt=usage.input_tokens + usage.cache_read_input_tokens,
        cached=usage.cache_read_input_tokens,
        completion=usage.output_tokens,
        thinking=usage.output_tokens_details.thinking_tokens,
    )


class Listener:
    """Adds up a stream as clients do, and checks the order of its events."""

    def __init__(self):
        self.blocks = []  # [type, what was said, name]
        self.open = None
        self.end = None
        self.begun = self.stopped = False
        self.start_usage = None

    def hear(self, event):
        assert not self.stopped
        assert self.begun == (event.type != "message_start")
        if event.type == "message_start":
            self.begun = True
            self.start_usage = _usage(event.message.usage)
            assert (event.message.id, event.message.content, event.message.stop_reason) == ("msg_1", [], None)
        elif event.type == "content_block_start":
            assert self.open is None
            assert event.index == len(self.blocks)
            self.open = event.index
            block = event.content_block
            assert block.type != "tool_use" or (block.input == {} and block.id.startswith("toolu_"))
            self.blocks.append([block.type, "", getattr(block, "name", None)])
        elif event.type == "content_block_delta":
            assert event.index == self.open
            self._more(event.delta)
        elif event.type == "content_block_stop":
            assert event.index == self.open
            self.open = None
        elif event.type == "message_delta":
            assert self.open is None
            assert self.blocks
            self.end = event
        else:
            assert self.end is not None
            self.stopped = True

    def _more(self, delta):
        kind, said, _ = self.blocks[-1]
        fits = {"text_delta": "text", "thinking_delta": "thinking", "input_json_delta": "tool_use"}
        if delta.type == "signature_delta":
            assert (kind, delta.signature) == ("thinking", "")
            return
        assert fits[delta.type] == kind
        field = {"text": "text", "thinking": "thinking", "tool_use": "partial_json"}[kind]
        self.blocks[-1][1] = said + getattr(delta, field)

    def answer(self):
        return _answer(self.blocks, self.end and self.end.delta.stop_reason)


def _answer(blocks, reason):
    return Answer(
        text="".join(said for kind, said, _ in blocks if kind == "text"),
        thinking="".join(said for kind, said, _ in blocks if kind == "thinking"),
        calls=tuple((name, said) for kind, said, name in blocks if kind == "tool_use" and _is_runnable(said)),
        reason=reason and REASONS[reason],
    )


def _is_runnable(arguments):
    try:
        return isinstance(json.loads(arguments), dict)
    except ValueError:
        return False


def read_stream(said):
    listener, error = Listener(), None
    for name, data in read_sse(said):
        assert error is None
        assert json.loads(data)["type"] == name
        if name == "error":
            error = ErrorResponse.model_validate_json(data, strict=True).error.message
        elif name != "ping":
            listener.hear(EVENT.validate_json(data, strict=True))
    assert listener.stopped == (error is None)
    usage = _usage(listener.end.usage) if listener.end else None
    if usage is not None:
        start = listener.start_usage
        assert (start.prompt, start.cached, start.completion) == (usage.prompt, usage.cached, 0)
    return Reply(answers=(listener.answer(),) if listener.begun else (), usage=usage, error=error)


def read_whole(said):
    message = Message.model_validate_json(said, strict=True)
    assert message.content
    blocks = [[block.type, _words(block), getattr(block, "name", None)] for block in message.content]
    return Reply(answers=(_answer(blocks, message.stop_reason),), usage=_usage(message.usage))


def _words(block):
    return json.dumps(block.input) if block.type == "tool_use" else getattr(block, block.type)


class TestMessages(ProtocolSuite):
    path = "/v1/messages"
    required = frozenset({"messages", "max_tokens"})
    most_choices = 1
    tells_scores = False
    spells_arguments = False
    statuses: ClassVar = {429: 529}

    @pytest.fixture
    def protocol(self, request):
        return request.getfixturevalue("fixed_protocol")

    def body(self, *, stream, choices=1, scores=False):
        return {"messages": [{"role": "user", "content": "hi"}], "max_tokens": 64, "stream": stream}

    def read_back(self, said, *, stream):
        return read_stream(said) if stream else read_whole(said)


class TestCountTokens(ExchangeSuite):
    path = "/v1/messages/count_tokens"
    asks = CountRequest
    required = frozenset({"messages"})
    statuses: ClassVar = {429: 529}

    @pytest.fixture
    def protocol(self, request):
        return request.getfixturevalue("fixed_protocol")

    def body(self):
        return {"messages": [{"role": "user", "content": "hi"}]}

    def answers(self):
        return [Counted(model="m", tokens=tokens) for tokens in (1, 17, 2**40)]

    def read_back(self, said):
        return MessageTokensCount.model_validate_json(said, strict=True).input_tokens

    def told(self, answer):
        return answer.tokens


class TestPlugin(PluginSuite):
    @pytest.fixture
    def plugin(self):
        return module
