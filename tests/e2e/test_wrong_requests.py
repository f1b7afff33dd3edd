"""Whatever is sent, the answer has the protocol's shape and the right status, and the server goes on."""

import json
import socket
from urllib.parse import urlsplit

import openai
import pytest

from mlxp_core.loading.sketch import write_sketch

CHAT = "/v1/chat/completions"
HELLO = {"messages": [{"role": "user", "content": "Hello"}], "max_tokens": 2, "temperature": 0}
LIMIT_BYTES = 20_000


@pytest.fixture(scope="module")
def two(live, sketch, tmp_path_factory):
    """A server with two models and a small limit of the body."""
    other = write_sketch(tmp_path_factory.mktemp("models") / "other", seed=1)
    with live(sketch, other, flags={"server": {"body_limit_bytes": LIMIT_BYTES}}) as served:
        yield served


WRONG = {
    "no body": (b"", "body"),
    "half a body": (b'{"messages": [', "body"),
    "not UTF-8": (b'{"messages": [{"role": "user", "content": "\xff"}]}', "body"),
    "a list": (b"[]", "body"),
    "no messages": ({}, "messages"),
    "empty messages": ({"messages": []}, "messages"),
    "a text for messages": ({"messages": "Hello"}, "messages"),
    "an unknown role": ({"messages": [{"role": "king", "content": "x"}]}, "messages"),
    "a text for a number": ({**HELLO, "max_tokens": "many"}, "max_tokens"),
    "no token": ({**HELLO, "max_tokens": 0}, "max_tokens"),
    "no choice": ({**HELLO, "n": 0}, "n"),
    "too many choices": ({**HELLO, "n": 1000}, "n"),
    "an unlikely temperature": ({**HELLO, "temperature": -1}, "temperature"),
    "an empty stop string": ({**HELLO, "stop": ""}, "stop"),
    "an unknown shape": ({**HELLO, "response_format": {"type": "poem"}}, "response_format"),
    "an unknown stage": ({**HELLO, "sampler_stages": {"nowhere": {}}}, "sampler_stages.nowhere"),
    "a call without tools": ({**HELLO, "tool_choice": "required"}, "tool_choice"),
    "a token that is not there": ({**HELLO, "logit_bias": {"999999": 1}}, "logit_bias"),
    "a retired field": ({**HELLO, "functions": []}, "functions"),
}


def assert_shaped(answer, status, code):
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/json"
    error = answer.json()["error"]
    assert error.keys() == {"message", "type", "param", "code"}
    assert error["code"] == code
    return error


def assert_goes_on(served):
    assert served.client.get("/health").status_code == 200
    assert served.client.post(CHAT, json={**HELLO, "model": "sketch"}).status_code == 200


@pytest.mark.parametrize(("sent", "param"), WRONG.values(), ids=WRONG)
@pytest.mark.parametrize("stream", [False, True])
def test_a_wrong_body_is_refused_by_name(served, sent, param, stream):
    body = sent if isinstance(sent, bytes) else json.dumps({**sent, "stream": stream}).encode()
    answer = served.client.post(CHAT, content=body)
    error = assert_shaped(answer, 400, "invalid_request")
    assert error["type"] == "invalid_request_error"
    assert (error["param"] or "body").startswith(param)
    assert served.client.get("/health").status_code == 200


IMAGE = "data:image/png;base64,AAAA"
PICTURE = {"type": "base64", "media_type": "image/png", "data": "AAAA"}
SURFACES = {
    CHAT: {"messages": [{"role": "user", "content": "Hi"}]},
    "/v1/completions": {"prompt": "Hi"},
    "/v1/responses": {"input": "Hi"},
    "/v1/messages": {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 2},
}
ELSEWHERE = {
    (CHAT, "max_tokens"): {"max_tokens": 10**6},
    (CHAT, "max_completion_tokens"): {"max_completion_tokens": 10**6},
    ("/v1/completions", "max_tokens"): {"max_tokens": 10**6},
    ("/v1/responses", "max_output_tokens"): {"max_output_tokens": 10**6},
    ("/v1/responses", "max_tokens"): {"max_tokens": 10**6},
    ("/v1/messages", "max_tokens"): {"max_tokens": 10**6},
    **{(path, "sampler_stages.nowhere"): {"sampler_stages": {"nowhere": {}}} for path in SURFACES},
    **{(path, "adapter"): {"adapter": "nobody"} for path in SURFACES},
    (CHAT, "messages"): {
        "messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": IMAGE}}]}]
    },
    ("/v1/completions", "prompt"): {"prompt": [10**9]},
    ("/v1/responses", "input"): {
        "input": [{"role": "user", "content": [{"type": "input_image", "image_url": IMAGE}]}]
    },
    ("/v1/messages", "messages"): {
        "messages": [{"role": "user", "content": [{"type": "image", "source": PICTURE}]}]
    },
    (CHAT, "chat_template_kwargs.messages"): {"chat_template_kwargs": {"messages": 1}},
    ("/v1/responses", "chat_template_kwargs.messages"): {"chat_template_kwargs": {"messages": 1}},
    (CHAT, "response_format"): {"response_format": {"type": "poem"}},
    ("/v1/responses", "text.format"): {"text": {"format": {"type": "poem"}}},
    ("/v1/messages", "output_config.format"): {"output_config": {"format": {"type": "poem"}}},
    ("/v1/messages", "output_format"): {"output_format": {"type": "poem"}},
}
"""What a surface calls a field -> what is wrong with it, as only the desk can know."""


@pytest.mark.parametrize(("path", "param"), ELSEWHERE, ids=lambda name: name.removeprefix("/v1/"))
def test_what_only_the_desk_can_refuse_is_told_by_the_surfaces_own_names(served, path, param):
    answer = served.client.post(path, json={**SURFACES[path], **ELSEWHERE[path, param]})
    assert answer.status_code == 400, answer.text
    error = answer.json()["error"]
    assert error.get("param", param) == param
    assert param in error["message"]


def test_a_prompt_beyond_the_context_is_refused(two):
    long = [{"role": "user", "content": "x " * 4500}]
    error = assert_shaped(
        two.client.post(CHAT, json={"model": "sketch", "messages": long}), 400, "context_length_exceeded"
    )
    assert "4096" in error["message"]
    assert_goes_on(two)


@pytest.mark.parametrize(
    "sent", [b"x" * (LIMIT_BYTES + 1), [b"x" * 999] * 25], ids=["announced", "in pieces"]
)
def test_a_body_over_the_limit_is_refused(two, sent):
    error = assert_shaped(two.client.post(CHAT, content=sent), 413, "request_too_large")
    assert str(LIMIT_BYTES) in error["message"]
    assert_goes_on(two)


@pytest.mark.parametrize("path", ["/v1/chat/completion", "/nowhere", "/v1/models/no/such"])
def test_an_unknown_path_is_not_found(two, path):
    assert two.client.get(path).status_code == 404
    assert two.client.get(path).json()["error"]["message"]


@pytest.mark.parametrize(("method", "path"), [("GET", CHAT), ("DELETE", CHAT), ("POST", "/health")])
def test_a_wrong_method_says_which_are_right(two, method, path):
    answer = two.client.request(method, path)
    assert_shaped(answer, 405, "method_not_allowed")
    assert "allow" in answer.headers
    assert_goes_on(two)


def test_of_several_models_the_name_decides(two, official):
    client = official(two.url)
    with pytest.raises(openai.NotFoundError, match="sketch"):
        client.chat.completions.create(**HELLO, model="neither")
    assert two.client.post(CHAT, json=HELLO).json()["model"] == "sketch", "no name means the first"
    assert {model.id for model in client.models.list()} == {"sketch", "other"}
    texts = [
        client.chat.completions.create(**{**HELLO, "max_tokens": 12}, model=name).choices[0].message.content
        for name in ("sketch", "other")
    ]
    assert texts[0] != texts[1], "each answers for itself"


@pytest.mark.parametrize(
    "sent",
    [
        b"\x00\x01\x02 no HTTP at all\r\n\r\n",
        b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: -5\r\n\r\n",
        b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{",
        b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
    ],
    ids=["noise", "a negative length", "half a body", "an endless path"],
)
def test_noise_on_the_wire_harms_nobody(two, sent):
    with socket.create_connection(("127.0.0.1", urlsplit(two.url).port), timeout=20) as wire:
        wire.sendall(sent)
        wire.shutdown(socket.SHUT_WR)
        answer = b"".join(iter(lambda: wire.recv(65536), b""))
    assert not answer or answer.startswith(b"HTTP/1.1 4"), answer[:100]
    assert_goes_on(two)


def test_the_official_client_gets_its_own_exceptions(served, official):
    client = official(served.url)
    with pytest.raises(openai.BadRequestError) as caught:
        client.chat.completions.create(model="", messages=[], max_tokens=3)
    assert caught.value.param == "messages"
    with pytest.raises(openai.BadRequestError):
        client.chat.completions.create(**HELLO, model="", n=9, stream=True)
