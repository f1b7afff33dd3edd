"""Both endpoints against the shared kit."""

import json
from typing import ClassVar

import pytest

from mlxp_core.testing.exchange import ExchangeSuite
from mlxp_core.testing.protocol import ProtocolSuite
from mlxp_core.testing.replies import Answer, Reply
from mlxp_core.types import Forecast, ForecastRequest, TokenScore, Usage
from mlxp_curves.decode import CurveDecoder
from mlxp_curves.protocol import make_protocol

PROTOCOL = make_protocol(CurveDecoder(lambda: "curve-1", lambda _: None))


class TestGenerate(ProtocolSuite):
    path = "/v1/curves/generate"
    modes = (False,)
    required = frozenset({"prompt"})
    tells_scores = False
    tells_turns = False
    reasons: ClassVar = {}

    @pytest.fixture
    def protocol(self):
        return PROTOCOL

    def body(self, *, stream, choices=1, scores=False):
        return {"prompt": "hi", "n": choices}

    def read_back(self, said, *, stream):
        body = json.loads(said)
        assert body["n"] == len(body["samples"])
        answers = tuple(Answer(text=each["text"], reason=each["finish_reason"]) for each in body["samples"])
        usage = body["usage"]
        return Reply(
            answers=answers,
            usage=Usage(
                prompt=usage["prompt_tokens"],
                cached=usage["cached_tokens"],
                completion=usage["completion_tokens"],
                thinking=usage["thinking_tokens"],
            ),
        )


class TestSignal(ExchangeSuite):
    path = "/v1/curves/signal"
    asks = ForecastRequest
    required = frozenset({"prompt"})

    @pytest.fixture
    def protocol(self):
        return PROTOCOL

    def body(self):
        return {"prompt": "hi", "likeliest": 2}

    def answers(self):
        token = TokenScore(7, "é", "é".encode(), -0.5)
        odd = TokenScore(0, "\ufffd", b"\xff", -9999.0)
        return [
            Forecast(model="m", tokens=3, lowest=-13.8, counts=(1, 2, 3), likeliest=(token, odd)),
            Forecast(model="", tokens=0, lowest=-13.8, counts=(0,), likeliest=()),
        ]

    def read_back(self, said):
        return json.loads(said)

    def told(self, answer):
        return {
            "bins": list(answer.counts),
            "vocab": sum(answer.counts),
            "model": answer.model,
            "tokens": answer.tokens,
            "likeliest": [
                {"token": each.token, "text": each.text, "logprob": each.logprob} for each in answer.likeliest
            ],
        }
