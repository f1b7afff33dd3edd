"""Chat completions against the shared kit, read back with the official client's own types."""

import json

import pytest
from openai.types.chat import ChatCompletion, ChatCompletionChunk

from mlxp_core.testing.plugin import PluginSuite
from mlxp_core.testing.protocol import ProtocolSuite, read_sse
from mlxp_core.testing.replies import Answer, Reply
from mlxp_core.types import Usage
from mlxp_protocols.openai_chat import plugin as module

REASONS = {"stop": "stop", "length": "length", "tool_calls": "calls", None: None}


def _usage(usage):
    return usage and Usage(
        prompt=usage.prompt_tokens,
        cached=usage.prompt_tokens_details.cached_tokens,
        completion=usage.completion_tokens,
        thinking=usage.completion_tokens_details.reasoning_tokens,
    )


def _is_runnable(arguments):
    try:
        return isinstance(json.loads(arguments), dict)
    except ValueError:
        return False


class Listener:
    """Adds up one choice as clients do."""

    def __init__(self):
        self.text = self.thinking = ""
        self.calls = {}
        self.reason = None
        self.scores = []

    def hear(self, choice):
        delta = choice.delta
        self.text += delta.content or ""
        extra = delta.model_extra
        assert extra.get("reasoning") == extra.get("reasoning_content")
        self.thinking += extra.get("reasoning") or ""
        for call in delta.tool_calls or ():
            if call.id is not None:
                assert call.index not in self.calls
                assert (call.type, call.function.arguments) == ("function", "")
                self.calls[call.index] = (call.function.name, "")
            else:
                name, said = self.calls[call.index]
                self.calls[call.index] = (name, said + call.function.arguments)
        self.scores += [score.logprob for score in (choice.logprobs.content if choice.logprobs else ())]
        assert self.reason is None
        self.reason = choice.finish_reason

    def answer(self):
        calls = tuple(call for _, call in sorted(self.calls.items()) if _is_runnable(call[1]))
        return Answer(
            text=self.text,
            thinking=self.thinking,
            calls=calls,
            reason=REASONS[self.reason],
            scores=tuple(self.scores),
        )


def read_stream(said):
    frames = [data for _, data in read_sse(said)]
    listeners, usage, error = {}, None, None
    for data in frames:
        if data == "[DONE]":
            assert data is frames[-1]
            continue
        if "error" in json.loads(data):
            error = json.loads(data)["error"]["message"]
            continue
        chunk = ChatCompletionChunk.model_validate_json(data, strict=True)
        assert (chunk.id, chunk.created) == ("chatcmpl-1", 1760000000)
        for choice in chunk.choices:
            listeners.setdefault(choice.index, Listener()).hear(choice)
        if not chunk.choices:
            usage = _usage(chunk.usage)
    assert (frames[-1] == "[DONE]") == (error is None)
    answers = tuple(listener.answer() for _, listener in sorted(listeners.items()))
    return Reply(answers=answers, usage=usage, error=error)


def read_whole(said):
    completion = ChatCompletion.model_validate_json(said, strict=True)
    answers = []
    for choice in completion.choices:
        message = choice.message
        calls = tuple((call.function.name, call.function.arguments) for call in message.tool_calls or ())
        assert message.content is not None or calls
        answers.append(
            Answer(
                text=message.content or "",
                thinking=message.model_extra.get("reasoning", ""),
                calls=calls,
                reason=REASONS[choice.finish_reason],
                scores=tuple(score.logprob for score in (choice.logprobs.content if choice.logprobs else ())),
            )
        )
    return Reply(answers=tuple(answers), usage=_usage(completion.usage))


class TestChatCompletions(ProtocolSuite):
    path = "/v1/chat/completions"

    @pytest.fixture
    def protocol(self, request):
        return request.getfixturevalue("fixed_protocol")

    def body(self, *, stream, choices=1, scores=False):
        return {
            "messages": [{"role": "user", "content": "hi"}],
            "stream": stream,
            "stream_options": {"include_usage": True},
            "n": choices,
            **({"logprobs": True, "top_logprobs": 2} if scores else {}),
        }

    def read_back(self, said, *, stream):
        return read_stream(said) if stream else read_whole(said)


class TestPlugin(PluginSuite):
    @pytest.fixture
    def plugin(self):
        return module
