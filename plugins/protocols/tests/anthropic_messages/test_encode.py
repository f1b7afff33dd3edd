import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlxp_core.errors import (
    BadRequest,
    Busy,
    ContextOverflow,
    EngineFault,
    Forbidden,
    MethodNotAllowed,
    TooLarge,
    Unauthorized,
    Unavailable,
    UnknownModel,
)
from mlxp_core.testing import scripts
from mlxp_core.testing.protocol import read_sse
from mlxp_core.types import (
    CallBroken,
    CallDelta,
    CallDone,
    CallStarted,
    Failed,
    Finished,
    Prefilled,
    Started,
    TextDelta,
    ThinkingDelta,
    Timing,
    Usage,
)
from mlxp_protocols.anthropic_messages import errors
from mlxp_protocols.anthropic_messages.encode import Head
from mlxp_protocols.anthropic_messages.encode_stream import StreamEncoder
from mlxp_protocols.anthropic_messages.encode_whole import WholeEncoder

HEAD = Head(id="msg_1", model="asked")
BEGUN = (Started("r", "tiny", seed=7), Prefilled(4, 11, cached=4))
END = Finished("stop", Usage(11, 4, 9, 0), Timing())


def frames(said):
    return [json.loads(data) for _, data in read_sse(said)]


def stream(events, head=HEAD):
    encoder = StreamEncoder(head)
    return frames(b"".join(encoder.feed(event) for event in events))


def whole(events, head=HEAD):
    encoder = WholeEncoder(head)
    return json.loads(b"".join(encoder.feed(event) for event in events))


def blocks(told):
    """Add up the blocks of a stream."""
    added = []
    for frame in told:
        if frame["type"] == "content_block_start":
            added.append({**frame["content_block"]})
        elif frame["type"] == "content_block_delta":
            delta = {name: value for name, value in frame["delta"].items() if name != "type"}
            for name, value in delta.items():
                added[-1][name] = added[-1].get(name, "") + value
    for block in added:
        if "partial_json" in block:
            block["input"] = json.loads(block.pop("partial_json"))
    return added


def test_the_start_waits_for_the_prompt_and_counts_it(decode):
    encoder = decode(stream=True, model="asked").encoder
    assert encoder.feed(Started("r", "tiny", seed=7)) == b""
    (start,) = frames(encoder.feed(Prefilled(4, 11, cached=4)))
    assert start == {
        "type": "message_start",
        "message": {
            "type": "message",
            "id": "msg_1",
            "role": "assistant",
            "model": "tiny",
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": {
                "input_tokens": 7,
                "cache_creation_input_tokens": 0,
                "cache_read_input_tokens": 4,
                "output_tokens": 0,
                "output_tokens_details": {"thinking_tokens": 0},
            },
            "mlxp": {"seed": 7},
        },
    }
    assert encoder.feed(Prefilled(11, 11, cached=4)) == b""


def test_the_end_tells_why_and_how_much():
    *_, delta, stop = stream(scripts.THINKING_THEN_ANSWER.events)
    assert delta == {
        "type": "message_delta",
        "delta": {"stop_reason": "end_turn", "stop_sequence": None},
        "usage": {
            "input_tokens": 7,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 4,
            "output_tokens": 9,
            "output_tokens_details": {"thinking_tokens": 5},
        },
    }
    assert stop == {"type": "message_stop"}


def test_blocks_come_one_after_the_other():
    events = (
        *BEGUN,
        ThinkingDelta("a"),
        TextDelta("b"),
        ThinkingDelta("c"),
        ThinkingDelta("d"),
        TextDelta("e"),
        END,
    )
    told = stream(events)
    order = [(frame["type"], frame["index"]) for frame in told if "index" in frame]
    start, delta, stop = (f"content_block_{kind}" for kind in ("start", "delta", "stop"))
    assert order == [
        *((start, 0), (delta, 0), (delta, 0), (stop, 0)),  # the last delta is the signature
        *((start, 1), (delta, 1), (stop, 1)),
        *((start, 2), (delta, 2), (delta, 2), (delta, 2), (stop, 2)),
        *((start, 3), (delta, 3), (stop, 3)),
    ]
    assert blocks(told) == whole(events)["content"]


def test_thinking_is_signed_with_nothing():
    told = stream(scripts.THINKING_THEN_ANSWER.events)
    begun = next(frame for frame in told if frame["type"] == "content_block_start")
    assert begun["content_block"] == {"type": "thinking", "thinking": "", "signature": ""}
    deltas = [
        frame["delta"] for frame in told if frame["type"] == "content_block_delta" and frame["index"] == 0
    ]
    assert deltas[-1] == {"type": "signature_delta", "signature": ""}


@pytest.mark.parametrize("display", ["summarized", None])
def test_words_of_thinking_are_kept_back_only_when_asked(decode, display):
    def said(display, streaming):
        config = {"type": "adaptive", "display": display}
        encoder = decode(stream=streaming, thinking=config).encoder
        told = b"".join(encoder.feed(event) for event in scripts.THINKING_THEN_ANSWER.events)
        return blocks(frames(told)) if streaming else json.loads(told)["content"]

    for streaming in (True, False):
        told = said(display, streaming)
        assert told[0] == {"type": "thinking", "thinking": "Let me see.\n", "signature": ""}
        assert said("omitted", streaming) == [{"type": "thinking", "thinking": "", "signature": ""}, told[1]]


def test_a_call_is_told_in_fragments_under_an_id_of_this_protocol():
    told = stream(scripts.TWO_CALLS.events)
    first = [frame for frame in told if frame.get("index") == 0]
    assert first[0]["content_block"] == {"type": "tool_use", "id": "toolu_0", "name": "weather", "input": {}}
    fragments = [frame["delta"]["partial_json"] for frame in first[1:-1]]
    assert fragments == ['{"city"', ': "Łódź"', ', "days": 3', "}"]
    assert blocks(told) == whole(scripts.TWO_CALLS.events)["content"]
    assert told[-2]["delta"]["stop_reason"] == "tool_use"


def test_arguments_are_complete_only_when_the_call_is_done():
    encoder = StreamEncoder(HEAD)
    said = b"".join(map(encoder.feed, (*BEGUN, CallStarted(0, "call_0", "f"), CallDelta(0, '{"a": {}} '))))
    arguments = frames(said)[-1]["delta"]["partial_json"]
    with pytest.raises(json.JSONDecodeError):
        json.loads(arguments)
    more = frames(encoder.feed(CallDone(0)))
    assert json.loads(arguments + more[0]["delta"]["partial_json"]) == {"a": {}}
    assert more[-1] == {"type": "content_block_stop", "index": 0}


def test_a_call_without_arguments_has_empty_ones():
    events = (*BEGUN, CallStarted(0, "call_0", "f"), CallDelta(0, "{}"), CallDone(0), END)
    assert blocks(stream(events)) == whole(events)["content"]
    assert blocks(stream(events))[0]["input"] == {}


def test_a_call_that_breaks_before_its_arguments_is_text_alone():
    events = (*BEGUN, TextDelta("So: "), CallStarted(0, "call_0", "f"), CallBroken(0, "<call>", "empty"), END)
    assert blocks(stream(events)) == whole(events)["content"] == [{"type": "text", "text": "So: <call>"}]


def test_a_call_that_breaks_later_is_closed_incomplete_and_its_text_follows():
    told = stream(scripts.BROKEN_CALL.events)
    kinds = [frame["content_block"]["type"] for frame in told if frame["type"] == "content_block_start"]
    assert kinds == ["text", "tool_use", "text"]
    (fragment,) = (
        frame["delta"]["partial_json"]
        for frame in told
        if frame["type"] == "content_block_delta" and frame["delta"]["type"] == "input_json_delta"
    )
    assert fragment == '{"a": 1'
    assert told[-2]["delta"]["stop_reason"] == "end_turn"
    assert told[-2]["mlxp"] == {"warnings": ["tool call 'add': text after the arguments"]}
    content = whole(scripts.BROKEN_CALL.events)["content"]
    assert [block["type"] for block in content] == ["text"]


def test_a_broken_call_without_any_text_says_nothing():
    events = (*BEGUN, CallStarted(0, "call_0", "f"), CallDelta(0, "{"), CallBroken(0, "", "cut"), END)
    assert [frame["type"] for frame in stream(events)][-3:] == [
        "content_block_stop",
        "message_delta",
        "message_stop",
    ]


def test_an_empty_answer_is_one_empty_text():
    assert blocks(stream(scripts.EMPTY_ANSWER.events)) == [{"type": "text", "text": ""}]
    assert whole(scripts.EMPTY_ANSWER.events)["content"] == [{"type": "text", "text": ""}]


@pytest.mark.parametrize(
    ("script", "reason", "sequence"),
    [
        (scripts.PLAIN, "end_turn", None),
        (scripts.STOP_STRING, "stop_sequence", " 5"),
        (scripts.LENGTH, "max_tokens", None),
        (scripts.LENGTH_INSIDE_CALL, "max_tokens", None),
        (scripts.LENGTH_INSIDE_THINKING, "max_tokens", None),
        (scripts.TWO_CALLS, "tool_use", None),
        (scripts.CANCELLED, "end_turn", None),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_both_ways_tell_the_same_reason(script, reason, sequence):
    told = {"stop_reason": reason, "stop_sequence": sequence}
    assert stream(script.events)[-2]["delta"] == told
    assert {name: whole(script.events)[name] for name in told} == told


def test_what_the_protocol_has_no_word_for_is_told_under_our_name():
    assert whole(scripts.CANCELLED.events)["mlxp"] == {"seed": 7, "cancelled": True}
    assert stream(scripts.CANCELLED.events)[-2]["mlxp"] == {"cancelled": True}
    assert "mlxp" not in stream(scripts.PLAIN.events)[-2]


def test_an_end_while_waiting_is_a_whole_message():
    told = stream(scripts.CANCELLED_WHILE_WAITING.events)
    assert told[0]["message"]["model"] == "asked"
    assert [frame["type"] for frame in told] == [
        "message_start",
        "content_block_start",
        "content_block_stop",
        "message_delta",
        "message_stop",
    ]


def test_words_without_a_count_begin_the_message_all_the_same():
    told = stream((Started("r", "tiny"), TextDelta("hi"), END))
    assert told[0]["message"]["usage"]["input_tokens"] == 0
    assert told[-2]["usage"]["input_tokens"] == 7


def test_a_ping_may_come_first_and_a_failure_is_then_told_in_the_stream(decode):
    encoder = decode(stream=True).encoder
    assert read_sse(encoder.keep_alive()) == [("ping", '{"type":"ping"}')]
    ((name, data),) = read_sse(encoder.feed(Failed("rate_limit_exceeded", "full; wait", 429)))
    assert name == "error"
    error = {"type": "overloaded_error", "message": "full; wait"}
    assert json.loads(data) == {"type": "error", "error": error, "request_id": "req_1"}
    assert encoder.keep_alive() == encoder.feed(TextDelta("late")) == b""
    assert decode().encoder.keep_alive() == b""


def test_a_stream_that_breaks_ends_with_its_error():
    told = stream(scripts.FAILURE_MIDWAY.events)
    assert told[-1]["type"] == "error"
    assert told[-1]["error"] == {"type": "api_error", "message": "the device gave up; try again"}
    assert not {"message_delta", "message_stop"} & {frame["type"] for frame in told}


@pytest.mark.parametrize("streaming", [True, False])
def test_a_failure_before_any_byte_is_a_response_with_its_id(decode, streaming):
    encoder = decode(stream=streaming).encoder
    assert encoder.feed(Failed("rate_limit_exceeded", "full; wait", 429)) == b""
    response = encoder.failure()
    assert response.status == 529
    assert json.loads(response.body)["request_id"] == "req_1"


@pytest.mark.parametrize(
    ("error", "status", "kind"),
    [
        (BadRequest("x", param="n"), 400, "invalid_request_error"),
        (ContextOverflow("x"), 400, "invalid_request_error"),
        (Unauthorized("x"), 401, "authentication_error"),
        (Forbidden("x"), 403, "permission_error"),
        (UnknownModel("x"), 404, "not_found_error"),
        (MethodNotAllowed("x"), 405, "invalid_request_error"),
        (TooLarge("x"), 413, "request_too_large"),
        (Busy("x", headers=(("Retry-After", "2"),)), 529, "overloaded_error"),
        (EngineFault("x"), 500, "api_error"),
        (Unavailable("x"), 503, "api_error"),
    ],
)
def test_errors_have_the_shape_that_clients_know(error, status, kind):
    response = errors.render(error)
    assert response.status == status
    assert json.loads(response.body) == {
        "type": "error",
        "error": {"type": kind, "message": "x"},
        "request_id": None,
    }
    assert response.headers == dict(error.headers)


def test_an_error_is_named_by_the_request_it_belongs_to():
    response = errors.render(BadRequest("x", headers=(("x-request-id", "req_9"),)))
    assert json.loads(response.body)["request_id"] == "req_9"


PIECES = st.lists(
    st.one_of(
        st.builds(lambda text: (TextDelta(text),), st.text(min_size=1)),
        st.builds(lambda text: (ThinkingDelta(text),), st.text(min_size=1)),
        st.builds(
            lambda given: (
                CallStarted(0, "call_0", "f"),
                *(CallDelta(0, char) for char in given),
                CallDone(0),
            ),
            st.dictionaries(st.text(), st.none() | st.text() | st.dictionaries(st.text(), st.none())).map(
                json.dumps
            ),
        ),
        st.builds(
            lambda text: (CallStarted(0, "call_0", "f"), CallBroken(0, text, "broken")), st.text(min_size=1)
        ),
    )
)


@given(PIECES)
def test_a_stream_adds_up_to_the_whole_answer(pieces):
    events = (*BEGUN, *(event for piece in pieces for event in piece), END)
    assert blocks(stream(events)) == whole(events)["content"]
