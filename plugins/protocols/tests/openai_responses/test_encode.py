import json

import pytest
from openai.types.responses import Response, ResponseStreamEvent
from pydantic import TypeAdapter

from mlxp_core.testing import scripts
from mlxp_core.testing.protocol import read_sse
from mlxp_core.types import (
    CallBroken,
    CallDelta,
    CallDone,
    CallStarted,
    Failed,
    Finished,
    Scored,
    Started,
    TextDelta,
    ThinkingDelta,
    Timing,
    TokenScore,
    Usage,
    WireRequest,
)

EVENTS = TypeAdapter(ResponseStreamEvent)
END = Finished("stop", Usage(), Timing())
BEGIN = Started("resp_1", "tiny", seed=7)
CUSTOM = {"type": "custom", "name": "patch"}


@pytest.fixture
def stream(decode):
    """Encode events as a stream; returns the JSON of its events."""

    def run(events, **body):
        encoder = decode(stream=True, **body).encoder
        return [json.loads(data) for _, data in read_sse(b"".join(encoder.feed(event) for event in events))]

    return run


def kinds(events):
    return [event["type"].removeprefix("response.") for event in events]


MESSAGE = ["output_text.done", "content_part.done", "output_item.done"]
REASONING = ["reasoning_summary_text.done", "reasoning_summary_part.done", "output_item.done"]


def test_the_chain_is_whole_and_in_order(stream):
    said = (
        BEGIN,
        ThinkingDelta("Hm."),
        TextDelta("I "),
        TextDelta("look."),
        CallStarted(0, "call_0", "f"),
        CallDelta(0, "{}"),
        CallDone(0),
        TextDelta("Asked."),
        Finished("calls", Usage(), Timing()),
    )
    events = stream(said)
    assert kinds(events) == [
        "created",
        "in_progress",
        *("output_item.added", "reasoning_summary_part.added", "reasoning_summary_text.delta", *REASONING),
        *("output_item.added", "content_part.added", "output_text.delta", "output_text.delta", *MESSAGE),
        "output_item.added",
        *("function_call_arguments.delta", "function_call_arguments.done", "output_item.done"),
        *("output_item.added", "content_part.added", "output_text.delta", *MESSAGE),
        "completed",
    ]
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    added = [event for event in events if event["type"] == "response.output_item.added"]
    assert [event["output_index"] for event in added] == [0, 1, 2, 3]
    assert [event["item"]["id"] for event in added] == ["rs_1_0", "msg_1_1", "fc_1_2", "msg_1_3"]
    for event in events:
        EVENTS.validate_python(event, strict=True)


@pytest.mark.parametrize(
    "script", [one for one in scripts.SCRIPTS if one.choices == 1], ids=lambda script: script.name
)
def test_a_whole_response_is_what_ends_the_stream(new_surface, script):
    def said(**body):
        request = WireRequest(body=json.dumps({"input": "hi", **body}).encode())
        encoder = new_surface().endpoints[0].decode(request).encoder
        return b"".join(encoder.feed(event) for event in script.events)

    assert json.loads(said()) == json.loads(read_sse(said(stream=True))[-1][1])["response"]


def test_nothing_has_logprobs_unless_asked(stream):
    events = stream(scripts.PLAIN.events)
    told = [event["logprobs"] for event in events if "logprobs" in event]
    assert told
    assert not any(told)
    assert events[-1]["response"]["output"][0]["content"][0]["logprobs"] == []


def test_scores_stand_with_their_text(stream):
    events = stream(scripts.SCORED.events, top_logprobs=2)
    deltas = [event for event in events if event["type"] == "response.output_text.delta"]
    assert [[score["token"] for score in event["logprobs"]] for event in deltas] == [
        ["Yes"],
        ["\ufffd", "\ufffd"],
    ]
    (done,) = (event for event in events if event["type"] == "response.output_text.done")
    assert [score["token"] for score in done["logprobs"]] == ["Yes", "\ufffd", "\ufffd", ""]


def test_an_impossible_token_has_a_finite_score(answer):
    never = TokenScore(1, "x", b"x", float("-inf"))
    part = answer([BEGIN, Scored(never, (never,)), TextDelta("x"), END])["output"][0]["content"][0]
    assert part["logprobs"][0]["logprob"] == part["logprobs"][0]["top_logprobs"][0]["logprob"] == -9999.0


@pytest.mark.parametrize("tools", [[], [CUSTOM]])
def test_a_broken_call_is_text_and_nothing_else(stream, tools):
    name = tools[0]["name"] if tools else "f"
    said = (
        BEGIN,
        CallStarted(0, "call_0", name),
        CallDelta(0, '{"input": "x"}'),
        CallBroken(0, "<call>", "cut"),
        Finished("length", Usage(), Timing(), warnings=("cut",)),
    )
    events = stream(said, tools=tools)
    items = {event["item"]["type"] for event in events if "item" in event}
    last = events[-1]
    assert items == {"message"}
    assert [item["id"] for item in last["response"]["output"]] == ["msg_1_0"]
    assert last["response"]["output"][0]["content"][0]["text"] == "<call>"
    assert last["type"] == "response.incomplete"
    assert last["response"]["mlxp"] == {"seed": 7, "warnings": ["cut"]}


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ('{"input": "*** Begin \\"x\\"\\n"}', '*** Begin "x"\n'),
        ('{"input": 3}', '{"input": 3}'),
        ('{"input": "a", "more": 1}', '{"input": "a", "more": 1}'),
        ("{}", "{}"),
    ],
)
def test_a_custom_call_goes_back_as_its_text(stream, arguments, text):
    said = (BEGIN, CallStarted(0, "call_0", "patch"), CallDelta(0, arguments), CallDone(0), END)
    events = stream(said, tools=[CUSTOM])
    assert kinds(events)[2:-1] == [
        "output_item.added",
        "custom_tool_call_input.delta",
        "custom_tool_call_input.done",
        "output_item.done",
    ]
    (item,) = events[-1]["response"]["output"]
    assert item == {
        "type": "custom_tool_call",
        "id": "ctc_1_0",
        "status": "completed",
        "call_id": "call_0",
        "name": "patch",
        "input": text,
    }
    for event in events:
        EVENTS.validate_python(event, strict=True)


def test_a_call_into_a_namespace_has_its_own_name_back(answer):
    inner = {"type": "function", "name": "read"}
    group = {"type": "namespace", "name": "mcp__files", "description": "", "tools": [inner]}
    said = (BEGIN, CallStarted(0, "c", "mcp__files__read"), CallDelta(0, "{}"), CallDone(0), END)
    (item,) = answer(said, tools=[group])["output"]
    assert (item["namespace"], item["name"]) == ("mcp__files", "read")


def test_a_name_that_was_never_offered_is_passed_on(answer):
    said = (BEGIN, CallStarted(0, "c", "made_up"), CallDelta(0, "{}"), CallDone(0), END)
    assert answer(said)["output"][0]["name"] == "made_up"


@pytest.mark.parametrize(
    ("script", "status", "kind", "details", "item"),
    [
        (scripts.PLAIN, "completed", "completed", None, "completed"),
        (scripts.LENGTH, "incomplete", "incomplete", {"reason": "max_output_tokens"}, "incomplete"),
        (
            scripts.LENGTH_INSIDE_THINKING,
            "incomplete",
            "incomplete",
            {"reason": "max_output_tokens"},
            "incomplete",
        ),
        (scripts.CANCELLED, "cancelled", "incomplete", None, "incomplete"),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_the_end_says_how_it_ended(stream, script, status, kind, details, item):
    last = stream(script.events)[-1]
    response = last["response"]
    assert last["type"] == f"response.{kind}"
    assert (response["status"], response["incomplete_details"]) == (status, details)
    assert [said["status"] for said in response["output"]] == [item]
    assert response["completed_at"] == (1760000000 if status == "completed" else None)


def test_usage_is_in_tokens(answer):
    assert answer(scripts.THINKING_THEN_ANSWER.events)["usage"] == {
        "input_tokens": 11,
        "input_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 0},
        "output_tokens": 9,
        "output_tokens_details": {"reasoning_tokens": 5},
        "total_tokens": 20,
    }


def test_what_was_asked_is_echoed(answer):
    asked = {
        "instructions": "Be brief.",
        "temperature": 0.5,
        "top_p": 0.9,
        "max_output_tokens": 64,
        "max_tool_calls": 3,
        "metadata": {"run": "7"},
        "parallel_tool_calls": False,
        "reasoning": {"effort": "low", "summary": "auto"},
        "text": {"format": {"type": "text"}, "verbosity": "low"},
        "tool_choice": {"type": "function", "name": "f"},
        "tools": [{"type": "function", "name": "f", "parameters": {"type": "object"}, "strict": True}],
        "top_logprobs": 2,
        "truncation": "disabled",
        "store": False,
        "user": "ann",
        "prompt_cache_key": "k",
        "safety_identifier": "s",
    }
    response = answer(scripts.PLAIN.events, **asked)
    assert {name: response[name] for name in asked} == asked
    Response.model_validate(response, strict=True)


def test_what_was_not_asked_has_its_default(answer):
    response = answer(scripts.PLAIN.events, tools=[{"type": "function", "name": "f"}])
    assert (response["text"], response["tool_choice"]) == (
        {"format": {"type": "text"}, "verbosity": "medium"},
        "auto",
    )
    assert response["tools"] == [{"type": "function", "name": "f", "parameters": None, "strict": False}]
    assert (response["store"], response["truncation"], response["metadata"]) == (True, "disabled", {})
    assert (response["instructions"], response["temperature"], response["mlxp"]) == (None, None, {"seed": 7})
    Response.model_validate(response, strict=True)


@pytest.mark.parametrize(
    ("status", "code"),
    [(500, "server_error"), (503, "server_error"), (429, "rate_limit_exceeded"), (400, "invalid_prompt")],
)
def test_a_broken_stream_ends_with_a_failed_response(stream, store, status, code):
    events = stream((BEGIN, TextDelta("So far"), Failed("odd", "it gave up; try again", status)))
    last = events[-1]
    assert last["type"] == "response.failed"
    assert (last["response"]["status"], last["response"]["error"]) == (
        "failed",
        {"code": code, "message": "it gave up; try again"},
    )
    assert [item["status"] for item in last["response"]["output"]] == ["incomplete"]
    assert "response.output_item.done" not in {event["type"] for event in events}
    assert store.get("resp_1") is None
    for event in events:
        EVENTS.validate_python(event, strict=True)


def test_a_keep_alive_is_an_event_that_tells_how_far_it_is(decode):
    encoder = decode(stream=True).encoder
    assert [name for name, _ in read_sse(encoder.keep_alive())] == [
        "response.created",
        "response.in_progress",
    ]
    encoder.feed(BEGIN)
    encoder.feed(TextDelta("So far"))
    ((name, data),) = read_sse(encoder.keep_alive())
    event = EVENTS.validate_json(data, strict=True)
    assert (name, event.sequence_number) == ("response.in_progress", 5)
    assert event.response.output_text == "So far"
    assert decode().encoder.keep_alive() == b""
