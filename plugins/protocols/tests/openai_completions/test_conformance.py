"""Text completions against the shared kit, read back with the official client's own types."""

import json
from typing import ClassVar

import pytest
from openai.types import Completion

from mlxp_core.testing.plugin import PluginSuite
from mlxp_core.testing.protocol import ProtocolSuite, read_sse
from mlxp_core.testing.replies import Answer, Reply
from mlxp_core.types import Usage
from mlxp_protocols.openai_completions import plugin as module


def _usage(usage):
    return usage and Usage(
        prompt=usage.prompt_tokens,
        cached=usage.prompt_tokens_details.cached_tokens,
        completion=usage.completion_tokens,
        thinking=usage.completion_tokens_details.reasoning_tokens,
    )


def _scores(logprobs):
    if logprobs is None:
        return []
    lists = (logprobs.tokens, logprobs.token_logprobs, logprobs.top_logprobs, logprobs.text_offset)
    assert len({len(each) for each in lists}) == 1
    for token, logprob, top in zip(*lists[:3], strict=True):
        assert top[token] == logprob
    return logprobs.token_logprobs


class Listener:
    """Adds up one choice as clients do."""

    def __init__(self):
        self.text = ""
        self.scores = []
        self.reason = None

    def hear(self, choice):
        assert self.reason is None
        self.text += choice.text
        self.scores += _scores(choice.logprobs)
        self.reason = choice.finish_reason

    def answer(self):
        return Answer(text=self.text, reason=self.reason, scores=tuple(self.scores))


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
        frame = json.loads(data)
        reasons = [choice.pop("finish_reason") for choice in frame["choices"]]
        for choice in frame["choices"]:
            choice["finish_reason"] = (
                "stop"  # the client's type knows no frame without a reason, as sent by the API
            )
        completion = Completion.model_validate(frame)
        assert (completion.id, completion.created) == ("cmpl-1", 1760000000)
        for choice, reason in zip(completion.choices, reasons, strict=True):
            choice.finish_reason = reason
            listeners.setdefault(choice.index, Listener()).hear(choice)
        if not completion.choices:
            usage = _usage(completion.usage)
    assert (frames[-1] == "[DONE]") == (error is None)
    answers = tuple(listener.answer() for _, listener in sorted(listeners.items()))
    return Reply(answers=answers, usage=usage, error=error)


def read_whole(said):
    completion = Completion.model_validate_json(said, strict=True)
    listeners = []
    for choice in completion.choices:
        listener = Listener()
        listener.hear(choice)
        listeners.append(listener)
    assert [choice.index for choice in completion.choices] == list(range(len(completion.choices)))
    return Reply(answers=tuple(each.answer() for each in listeners), usage=_usage(completion.usage))


class TestCompletions(ProtocolSuite):
    path = "/v1/completions"
    required = frozenset({"prompt"})
    tells_turns = False
    reasons: ClassVar = {"cancelled": "stop", "calls": "stop"}

    @pytest.fixture
    def protocol(self, request):
        return request.getfixturevalue("fixed_protocol")

    def body(self, *, stream, choices=1, scores=False):
        return {
            "prompt": "hi",
            "stream": stream,
            "stream_options": {"include_usage": True},
            "n": choices,
            **({"logprobs": 2} if scores else {}),
        }

    def read_back(self, said, *, stream):
        return read_stream(said) if stream else read_whole(said)


class TestPlugin(PluginSuite):
    @pytest.fixture
    def plugin(self):
        return module
