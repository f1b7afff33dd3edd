"""What is particular to completions: several prompts, echoes, scores in their older shape."""

import codecs
import json

from hypothesis import given
from hypothesis import strategies as st

from mlxp_core.testing.protocol import read_sse
from mlxp_core.types import Finished, Scored, Started, TextDelta, Timing, TokenScore, Usage
from mlxp_protocols.openai_completions.encode import ScoreSheet, name_of


def answer(choice, text, prompt):
    usage = Usage(prompt=prompt, completion=2, cached=1)
    return [
        Started("cmpl-1", "tiny", seed=choice, choice=choice, echo=f"<{choice}>"),
        TextDelta(text, choice),
        Finished("stop", usage, Timing(), choice=choice),
    ]


EVENTS = [*answer(0, "a", 5), *answer(3, "d", 7), *answer(1, "b", 5), *answer(2, "c", 7)]


def test_prompts_are_counted_once_each_and_answers_stand_in_their_order(decode):
    encoder = decode(prompt=["one", "two"], n=2).encoder
    body = json.loads(b"".join(encoder.feed(event) for event in EVENTS))
    assert [choice["text"] for choice in body["choices"]] == ["<0>a", "<1>b", "<2>c", "<3>d"]
    usage = body["usage"]
    assert (usage["prompt_tokens"], usage["completion_tokens"], usage["total_tokens"]) == (12, 8, 20)
    assert usage["prompt_tokens_details"]["cached_tokens"] == 2


def test_a_stream_ends_with_the_last_answer_to_the_last_prompt(decode):
    encoder = decode(prompt=[[1], [2]], n=2, stream=True, stream_options={"include_usage": True}).encoder
    *_, usage, done = read_sse(b"".join(encoder.feed(event) for event in EVENTS))
    assert done[1] == "[DONE]"
    assert json.loads(usage[1])["usage"]["total_tokens"] == 20


def scored(data, logprob=-1.0):
    text = data.decode(errors="replace")
    return Scored(TokenScore(1, text, data, logprob), (TokenScore(2, "x", b"x", -0.5),))


@given(st.text(), st.data())
def test_offsets_are_where_the_characters_of_a_token_begin(text, data):
    whole = text.encode()
    cuts = sorted(data.draw(st.sets(st.integers(1, max(1, len(whole) - 1)), max_size=8)))
    ends = [cut for cut in cuts if cut < len(whole)]
    pieces = [whole[start:end] for start, end in zip([0, *ends], [*ends, len(whole)], strict=True)]
    sheet = ScoreSheet()
    for piece in pieces:
        sheet.enter(scored(piece))
    decoder = codecs.getincrementaldecoder("utf-8")()
    expected, seen = [], ""
    for piece in pieces:
        expected.append(len(seen))
        seen += decoder.decode(piece)
    assert sheet.take().text_offset == expected
    assert seen == text


def test_the_chosen_token_is_among_the_likeliest_and_no_two_look_alike():
    sheet = ScoreSheet()
    sheet.enter(scored(b"\xe2\x82"))
    sheet.enter(scored(b"\xac", float("-inf")))
    logprobs = sheet.take()
    assert logprobs.tokens == ["bytes:\\xe2\\x82", "bytes:\\xac"]
    assert logprobs.top_logprobs[0] == {"x": -0.5, "bytes:\\xe2\\x82": -1.0}
    assert logprobs.token_logprobs == [-1.0, -9999.0]
    assert sheet.take() is None


def test_a_token_without_bytes_is_called_by_its_marker():
    assert name_of(TokenScore(0, "<end>", b"", -1.0)) == "<end>"
