import json

import pytest
from msgspec.structs import replace

from mlxp_core.testing import scripts
from mlxp_core.testing.protocol import read_sse
from mlxp_core.types import (
    CallDelta,
    CallDone,
    CallStarted,
    Finished,
    Parting,
    Reuse,
    Scored,
    Started,
    TextDelta,
    Timing,
    TokenScore,
    Usage,
)


@pytest.fixture
def stream(decode):
    """Encode events as a stream; returns the JSON of the frames."""

    def run(events, **body):
        encoder = decode(stream=True, **body).encoder
        said = b"".join(encoder.feed(event) for event in events)
        return [json.loads(data) for _, data in read_sse(said) if data != "[DONE]"]

    return run


@pytest.fixture
def whole(decode):
    """Encode events as a whole answer; returns its JSON."""

    def run(events, **body):
        encoder = decode(**body).encoder
        return json.loads(b"".join(encoder.feed(event) for event in events))

    return run


def deltas(chunks):
    return [choice["delta"] for chunk in chunks for choice in chunk["choices"]]


def test_the_role_comes_first_with_the_seed_and_the_model(stream):
    first = stream(scripts.PLAIN.events)[0]
    assert first["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    assert first["choices"][0]["mlxp"] == {"seed": 7}
    assert (first["model"], first["system_fingerprint"]) == ("tiny", "mlxp-test")


def test_a_call_is_announced_by_name_then_told_in_fragments(stream):
    calls = [
        delta["tool_calls"] for delta in deltas(stream(scripts.TWO_CALLS.events)) if "tool_calls" in delta
    ]
    assert all(len(told) == 1 for told in calls)
    first, second = ([told[0] for told in calls if told[0]["index"] == index] for index in (0, 1))
    announced = {"name": "weather", "arguments": ""}
    assert first[0] == {"index": 0, "id": "call_0", "type": "function", "function": announced}
    assert second[0] == {"index": 1, "id": "call_1", "type": "function", "function": announced}
    assert all(set(told) == {"index", "function"} for told in (*first[1:], *second[1:]))
    assert "".join(told["function"]["arguments"] for told in first) == '{"city": "Łódź", "days": 3}'


@pytest.mark.parametrize(
    "fragments", [['{"a": 1}'], ['{"a": {', "}", "}"], ["{}", "\n"], ["{", '"a"', ": [{}]", "} "]]
)
def test_arguments_are_complete_json_only_when_the_call_is_done(decode, fragments):
    encoder = decode(stream=True).encoder
    told = ""

    def hear(said):
        chunks = [json.loads(data) for _, data in read_sse(said)]
        return "".join(
            call["function"]["arguments"] for delta in deltas(chunks) for call in delta["tool_calls"]
        )

    hear(encoder.feed(CallStarted(0, "call_0", "f")))
    for fragment in fragments:
        told += hear(encoder.feed(CallDelta(0, fragment)))
        with pytest.raises(json.JSONDecodeError):
            json.loads(told)
    told += hear(encoder.feed(CallDone(0)))
    assert told == "".join(fragments)


def test_usage_comes_alone_and_only_when_asked_for(stream):
    silent = stream(scripts.PLAIN.events)
    assert all("usage" not in chunk for chunk in silent)
    *before, last = stream(scripts.PLAIN.events, stream_options={"include_usage": True})
    assert all(chunk["usage"] is None for chunk in before)
    assert last["choices"] == []
    assert last["usage"] == {
        "prompt_tokens": 11,
        "completion_tokens": 9,
        "total_tokens": 20,
        "prompt_tokens_details": {"cached_tokens": 4},
        "completion_tokens_details": {"reasoning_tokens": 0},
    }


def test_usage_counts_the_prompt_once(whole):
    usage = whole(scripts.TWO_CHOICES_INTERLEAVED.events, n=2)["usage"]
    assert (usage["prompt_tokens"], usage["completion_tokens"], usage["total_tokens"]) == (11, 19, 30)
    assert usage["completion_tokens_details"]["reasoning_tokens"] == 3


def test_what_was_guessed_is_told_where_anything_was(whole):
    *before, last = scripts.PLAIN.events
    guessed = replace(last, usage=replace(last.usage, guessed=7, accepted=5))
    assert whole([*before, guessed])["usage"]["completion_tokens_details"] == {
        "reasoning_tokens": 0,
        "accepted_prediction_tokens": 5,
        "rejected_prediction_tokens": 2,
    }


def test_content_is_null_only_beside_calls(whole):
    assert whole(scripts.TWO_CALLS.events)["choices"][0]["message"]["content"] is None
    assert whole(scripts.EMPTY_ANSWER.events)["choices"][0]["message"]["content"] == ""
    assert whole(scripts.CALL_AFTER_TEXT.events)["choices"][0]["message"]["content"] == "I will look."


def test_reasoning_has_two_names_and_is_absent_when_empty(whole):
    message = whole(scripts.THINKING_THEN_ANSWER.events)["choices"][0]["message"]
    assert message["reasoning"] == message["reasoning_content"] == "Let me see.\n"
    assert "reasoning" not in whole(scripts.PLAIN.events)["choices"][0]["message"]


def test_diagnostics_are_told_under_our_name(whole, stream):
    said = whole(scripts.BROKEN_CALL.events)["choices"][0]["mlxp"]
    assert said == {"seed": 7, "warnings": ["tool call 'add': text after the arguments"]}
    assert whole(scripts.STOP_STRING.events)["choices"][0]["mlxp"]["stop"] == " 5"
    assert whole(scripts.CANCELLED.events)["choices"][0]["mlxp"]["cancelled"] is True
    last = stream(scripts.BROKEN_CALL.events)[-1]["choices"][0]
    assert last["mlxp"] == {"warnings": ["tool call 'add': text after the arguments"]}
    assert "mlxp" not in stream(scripts.PLAIN.events)[-1]["choices"][0]


def test_scores_stand_in_the_chunk_that_shows_their_text(stream, whole):
    chunks = stream(scripts.SCORED.events, logprobs=True, top_logprobs=2)
    scored = [
        (choice["delta"].get("content"), [score["token"] for score in choice["logprobs"]["content"]])
        for chunk in chunks
        for choice in chunk["choices"]
        if "logprobs" in choice
    ]
    assert scored == [("Yes", ["Yes"]), ("é", ["\ufffd", "\ufffd"]), (None, [""])]
    first = whole(scripts.SCORED.events, logprobs=True)["choices"][0]["logprobs"]["content"][0]
    assert first["bytes"] == list(b"Yes")
    assert [rival["token"] for rival in first["top_logprobs"]] == ["Yes", "No"]


def test_an_impossible_token_has_a_finite_score(whole):
    never = TokenScore(1, "x", b"x", float("-inf"))
    end = Finished("stop", Usage(), Timing())
    said = whole([Started("r", "m"), Scored(never, (never,)), TextDelta("x"), end])
    score = said["choices"][0]["logprobs"]["content"][0]
    assert score["logprob"] == score["top_logprobs"][0]["logprob"] == -9999.0


def test_a_broken_stream_ends_with_one_error_and_no_done(decode):
    encoder = decode(stream=True).encoder
    said = b"".join(encoder.feed(event) for event in scripts.FAILURE_MIDWAY.events)
    _, last = read_sse(said)[-1]
    assert json.loads(last)["error"] == {
        "message": "the device gave up; try again",
        "type": "server_error",
        "param": None,
        "code": "engine_fault",
    }
    assert b"[DONE]" not in said
    assert encoder.failure() is None


def test_a_keep_alive_is_a_comment(decode):
    assert decode(stream=True).encoder.keep_alive() == b": keep-alive\n\n"
    assert decode().encoder.keep_alive() == b""


PARTING = Parting(place=9, message=1, token=5, text=" a", known_token=6, known_text=" b")
REUSE = Reuse(prompt=20, cached=9, shared=9, cause="different", why="They part.", parting=PARTING)


def test_what_the_cache_did_is_told_to_those_who_ask(stream, whole):
    events = [Started("r", "tiny"), Finished("stop", Usage(prompt=20, cached=9), Timing(), reuse=REUSE)]
    told = whole(events, explain_cache=True)["choices"][0]["mlxp"]["cache"]
    assert (told["cached"], told["cause"], told["why"]) == (9, "different", "They part.")
    assert told["parting"]["known_text"] == " b"
    assert stream(events, explain_cache=True)[-1]["choices"][0]["mlxp"]["cache"] == told
    assert "cache" not in whole(events)["choices"][0]["mlxp"]
    assert "mlxp" not in stream(events)[-1]["choices"][0]
