"""Questions about text against the shared kit."""

import json

import pytest

from mlxp_core.errors import BadRequest
from mlxp_core.testing.exchange import ExchangeSuite
from mlxp_core.testing.plugin import PluginSuite
from mlxp_core.types import (
    Detokenized,
    DetokenizeRequest,
    Message,
    Rendered,
    RenderRequest,
    Text,
    Tokenized,
    TokenizeRequest,
    ToolSpec,
    WireRequest,
)
from mlxp_protocols.tokens import plugin as module
from mlxp_protocols.tokens.exchange import TokenDecoder

PROTOCOL = module.make_protocol(TokenDecoder(lambda: "tok-1"))
HI = [{"role": "user", "content": "hi"}]
TOOL = {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}


def ask(path, **body):
    exchange = next(each for each in PROTOCOL.endpoints if each.path == path)
    return exchange.decode(WireRequest(body=json.dumps(body).encode())).question


class TokenSuite(ExchangeSuite):
    @pytest.fixture
    def protocol(self):
        return PROTOCOL

    def read_back(self, said):
        return json.loads(said)


class TestTokenizeText(TokenSuite):
    path = "/tokenize"
    asks = TokenizeRequest
    required = frozenset({"prompt"})

    def body(self):
        return {"prompt": "hi"}

    def answers(self):
        return [
            Tokenized(model="m", tokens=(1, 2), pieces=("h", "\ufffd")),
            Tokenized(model="m", tokens=(), pieces=()),
        ]

    def told(self, answer):
        shown = {"tokens": list(answer.tokens), "pieces": list(answer.pieces)}
        return {"model": answer.model, "count": len(answer.tokens), **shown}


class TestTokenizeConversation(TestTokenizeText):
    path = "/v1/tokenize"
    asks = RenderRequest
    required = frozenset({"messages"})

    def body(self):
        return {"messages": HI}

    def answers(self):
        return [Rendered(model="m", text="<hi>", tokens=(1, 2), pieces=("<", "hi>"))]


class TestDetokenize(TokenSuite):
    path = "/detokenize"
    asks = DetokenizeRequest
    required = frozenset({"tokens"})

    def body(self):
        return {"tokens": [1, 2]}

    def answers(self):
        return [
            Detokenized(model="m", text="hi", pieces=("h", "i")),
            Detokenized(model="m", text="", pieces=()),
        ]

    def told(self, answer):
        return {"model": answer.model, "text": answer.text, "pieces": list(answer.pieces)}


class TestRender(TokenSuite):
    path = "/v1/render"
    asks = RenderRequest

    required = frozenset({"messages"})

    def body(self):
        return {"messages": HI}

    def answers(self):
        return [Rendered(model="m", text="<hi>\n", tokens=(1, 2), pieces=("<", "hi>\n"))]

    def told(self, answer):
        tokens = list(answer.tokens)
        return {"model": answer.model, "text": answer.text, "count": len(tokens), "tokens": tokens}


class TestPlugin(PluginSuite):
    @pytest.fixture
    def plugin(self):
        return module


def test_every_path_is_there_with_and_without_its_version():
    paths = {each.path for each in PROTOCOL.endpoints}
    assert paths == {
        f"{root}/{name}" for root in ("", "/v1") for name in ("tokenize", "detokenize", "render")
    }


@pytest.mark.parametrize("path", ["/tokenize", "/render"])
def test_a_conversation_is_read_as_by_chat_completions(path):
    asked = ask(
        path,
        messages=HI,
        tools=[TOOL],
        tool_choice="none",
        chat_template_kwargs={"enable_thinking": False, "x": 1},
    )
    assert asked.messages == (Message("user", (Text("hi"),)),)
    assert asked.tools == (ToolSpec("look", parameters={"type": "object"}),)
    assert (asked.tool_choice.mode, asked.thinking, asked.template_args) == ("none", False, {"x": 1})


def test_special_tokens_are_there_unless_said_otherwise():
    assert ask("/tokenize", prompt="a").special
    assert not ask("/tokenize", prompt="a", add_special_tokens=False).special
    assert ask("/detokenize", tokens=[1]).special
    assert not ask("/detokenize", tokens=[1], skip_special_tokens=True).special


@pytest.mark.parametrize("body", [{}, {"prompt": "a", "messages": HI}, {"prompt": 3}, {"messages": []}])
def test_tokenize_takes_one_of_two(body):
    with pytest.raises(BadRequest) as caught:
        ask("/tokenize", **body)
    assert caught.value.param in {"prompt", "messages"}


@pytest.mark.parametrize("tokens", [None, "1", [1.5], [-1], ["a"]])
def test_other_tokens_are_refused(tokens):
    with pytest.raises(BadRequest, match="tokens"):
        ask("/detokenize", tokens=tokens)


def test_a_field_of_another_path_is_reported():
    exchange = next(each for each in PROTOCOL.endpoints if each.path == "/render")
    body = {"messages": HI, "prompt": "a"}
    assert exchange.decode(WireRequest(body=json.dumps(body).encode())).warnings == ("prompt",)
