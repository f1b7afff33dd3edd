"""The official client, over HTTP, with a real server and a scripted engine behind it."""

import json
from pathlib import Path
from types import SimpleNamespace

import anthropic
import pytest
from msgspec.structs import replace

from mlxp_core.testing import scripts
from mlxp_core.testing.client import PATIENCE_S, SKETCH, serve
from mlxp_core.testing.engine import HOLD
from mlxp_core.types import Failed
from mlxp_protocols.anthropic_messages import plugin

HELLO = [{"role": "user", "content": "hi"}]
ASKED = {"model": "sketch", "max_tokens": 64, "messages": HELLO}
LOOK = {"name": "weather", "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}}}


@pytest.fixture
def talk():
    """Serve a script, and ask by the official client."""
    open_ones = []

    def begin(script, **more):
        served = serve(plugin.mlxp_protocols(), script, **more)
        running = served.__enter__()  # closed below, after the client
        client = anthropic.Anthropic(base_url=running.url, api_key="none", max_retries=0, timeout=PATIENCE_S)
        open_ones.append((served, client))
        return SimpleNamespace(served=running, messages=client.messages, beta=client.beta.messages)

    yield begin
    for served, client in reversed(open_ones):
        client.close()
        served.__exit__(None, None, None)


def test_a_whole_answer_is_what_a_stream_adds_up_to(talk):
    for script in (scripts.PLAIN, scripts.THINKING_THEN_ANSWER, scripts.TWO_CALLS, scripts.STOP_STRING):
        ask = talk(script.events)
        whole = ask.messages.create(**ASKED)
        with ask.messages.stream(**ASKED) as stream:
            added = stream.get_final_message()
        ignored = {"id", "mlxp", "parsed_output"}
        assert added.model_dump(exclude=ignored, exclude_none=True) == whole.model_dump(
            exclude=ignored, exclude_none=True
        )
        assert whole.id.startswith("msg_")
        assert whole._request_id.startswith("req_")


def test_two_turns_with_a_tool(talk):
    plays = [scripts.CALL_AFTER_TEXT.events, scripts.PLAIN.events]
    ask = talk(lambda order: plays.pop(0))
    with ask.messages.stream(**ASKED, tools=[LOOK]) as stream:
        first = stream.get_final_message()
    (call,) = (block for block in first.content if block.type == "tool_use")
    assert (first.stop_reason, call.name, call.input) == ("tool_use", "weather", {"city": "Łódź", "days": 3})
    assert call.id.startswith("toolu_")
    answer = {"type": "tool_result", "tool_use_id": call.id, "content": "rain"}
    conversation = [*HELLO, first.to_param(), {"role": "user", "content": [answer]}]
    with ask.messages.stream(model="sketch", max_tokens=64, messages=conversation, tools=[LOOK]) as stream:
        assert stream.get_final_text() == "Hello, world!"
    prompt = ask.served.engine.orders[1].request.prompt
    assert [message.role for message in prompt] == ["user", "assistant", "tool"]
    assert prompt[2].parts[0].call_id == prompt[1].parts[1].id == call.id


def test_what_an_agent_sends_is_taken_whole(talk):
    body = json.loads((Path(__file__).parent / "golden" / "agent-turn.request.json").read_bytes())
    del body["stream"], body["temperature"]
    body["messages"][2]["content"][1]["content"] = "a picture"  # the model has no eyes
    ask = talk(scripts.TWO_CALLS.events, models=[replace(SKETCH, context=65536)])
    betas = ["claude-code-20250219", "interleaved-thinking-2025-05-14", "context-management-2025-06-27"]
    with ask.beta.stream(**{**body, "model": "sketch"}, betas=betas) as stream:
        message = stream.get_final_message()
        warned = stream.response.headers["x-mlxp-warnings"]
    assert message.stop_reason == "tool_use"
    assert "web_search_20250305" in warned
    assert ask.served.engine.orders[0].request.thinking is True


def test_tokens_are_counted_as_a_message_would_have_them(talk):
    ask = talk(scripts.PLAIN.events)
    short = ask.messages.count_tokens(model="sketch", messages=HELLO).input_tokens
    long = ask.beta.count_tokens(
        model="sketch", messages=HELLO, system="Be brief.", tools=[LOOK], betas=["x"]
    )
    assert 0 < short < long.input_tokens
    ask.messages.create(**ASKED)
    assert len(ask.served.engine.orders[0].prompt.tokens) == short


def test_a_queue_that_is_full_is_an_overload(talk):
    begun, rest = scripts.PLAIN.events[:2], scripts.PLAIN.events[2:]
    ask = talk((*begun, HOLD, *rest), flags={"engine": {"batch": 1, "queue": 1}})
    with ask.messages.stream(**ASKED), ask.messages.stream(**ASKED):
        with pytest.raises(anthropic.APIStatusError) as caught:
            ask.messages.create(**ASKED)
        ask.served.call(ask.served.engine.release)
    assert caught.value.status_code == 529
    assert caught.value.body["error"]["type"] == "overloaded_error"
    assert int(caught.value.response.headers["retry-after"]) > 0


@pytest.mark.parametrize(
    ("change", "kind", "told"),
    [
        ({"max_tokens": 0}, anthropic.BadRequestError, "invalid_request_error"),
        (
            {"messages": [{"role": "user", "content": "x" * 5000}]},
            anthropic.RequestTooLargeError,
            "request_too_large",
        ),
    ],
)
def test_errors_are_those_that_the_client_knows(talk, change, kind, told):
    ask = talk(scripts.PLAIN.events, flags={"server": {"body_limit_bytes": 4000}})
    with pytest.raises(kind) as caught:
        ask.messages.create(**{**ASKED, **change})
    assert caught.value.body["error"]["type"] == told
    assert caught.value.body["request_id"] == caught.value.request_id
    assert caught.value.request_id.startswith("req_")


def test_a_path_that_is_not_there_is_told_in_this_shape(talk):
    answer = talk(scripts.PLAIN.events).served.client.post("/v1/messages/batches", json={})
    assert answer.status_code == 404
    assert answer.json()["error"]["type"] == "not_found_error"
    assert answer.json()["request_id"] == answer.headers["request-id"]


def test_a_missing_key_is_told_in_this_shape(talk):
    ask = talk(scripts.PLAIN.events, flags={"server": {"api_keys": ("secret",)}})
    with pytest.raises(anthropic.AuthenticationError) as caught:
        ask.messages.create(**ASKED)
    assert caught.value.body["error"]["type"] == "authentication_error"


def test_a_stream_that_breaks_raises_in_the_client(talk):
    ask = talk(scripts.FAILURE_MIDWAY.events)
    heard = []
    told = pytest.raises(anthropic.APIStatusError, match="the device gave up")
    with told as caught, ask.messages.stream(**ASKED) as stream:
        heard.extend(stream.text_stream)
    assert "".join(heard) == "So far so"
    assert caught.value.body["error"]["type"] == "api_error"


def test_a_failure_before_anything_has_its_status(talk):
    ask = talk((Failed("unavailable", "the model cannot be loaded", 503),))
    with pytest.raises(anthropic.APIStatusError) as caught, ask.messages.stream(**ASKED):
        pass
    assert caught.value.status_code == 503


def test_a_silent_stream_is_kept_open_by_pings(talk):
    ask = talk((HOLD, *scripts.PLAIN.events), flags={"server": {"keep_alive_s": 0.05}})
    with ask.served.client.stream("POST", "/v1/messages", json={**ASKED, "stream": True}) as response:
        lines = response.iter_lines()
        assert next(lines) == "event: ping"
        ask.served.call(ask.served.engine.release)
        assert "event: message_stop" in list(lines)
