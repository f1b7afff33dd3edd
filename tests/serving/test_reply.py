"""What the benchmark reads off the wire: the same however bytes were cut, each piece with the time it was whole."""

import json

from hypothesis import given
from hypothesis import strategies as st

from benchmarks.serving.measures.round import quantile
from benchmarks.serving.reply import reply

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
TEXTS = st.lists(st.text(min_size=1, max_size=12), min_size=1, max_size=6)
SIZES = st.lists(st.integers(1, 40), min_size=1, max_size=8)


def chunk(**delta):
    return b"data: " + json.dumps({"choices": [{"index": 0, "delta": delta}]}).encode() + b"\n\n"


def stream(texts):
    usage = {"prompt_tokens": 9, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 4}}
    told = json.dumps({"choices": [], "usage": usage}).encode()
    said = b"".join(chunk(content=text) for text in texts)
    return b": hello\n\n" + chunk(role="assistant") + said + b"data: " + told + b"\n\ndata: [DONE]\n\n"


def pieces(data, sizes):
    """Cut bytes into pieces of these sizes, over and over."""
    place, number = 0, 0
    while place < len(data):
        size = sizes[number % len(sizes)]
        yield data[place : place + size]
        place, number = place + size, number + 1


def framed(body, sizes, *, chunked):
    if not chunked:
        return HEAD + b"\r\n" + body
    frames = b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces(body, sizes))
    return HEAD + b"transfer-encoding: chunked\r\n\r\n" + frames + b"0\r\n\r\n"


@given(TEXTS, SIZES, SIZES, st.booleans())
def test_any_cut_and_any_framing_give_the_same(texts, frames, cuts, chunked):
    wire = framed(stream(texts), frames, chunked=chunked)
    marks = list(enumerate(pieces(wire, cuts), start=1))
    got = reply(marks, 0.0, len(marks))
    assert (got.fault, got.text) == (None, "".join(texts))
    assert len(got.times) == len(texts)
    assert list(got.times) == sorted(got.times)
    assert (got.usage.completion_tokens, got.cached) == (3, 4)


@given(TEXTS, SIZES)
def test_a_piece_has_the_time_of_its_last_byte(texts, frames):
    wire = framed(stream(texts), frames, chunked=True)
    got = reply([(at, bytes([byte])) for at, byte in enumerate(wire, start=1)], 0.0, len(wire))
    for number, at in enumerate(got.times, start=1):
        known = reply([(1, wire[: int(at)])], 0.0, 1)
        assert len(known.times) == number
        assert len(reply([(1, wire[: int(at) - 1])], 0.0, 1).times) == number - 1


def test_thinking_is_text_too():
    wire = HEAD + b"\r\n" + chunk(reasoning_content="one ") + chunk(reasoning="two ") + chunk(content="three")
    assert reply([(1, wire)], 0.0, 1).tokens == 3


def test_what_is_no_answer_says_why():
    refused = b'HTTP/1.1 503 Busy\r\ncontent-type: application/json\r\n\r\n{"error": {"message": "no"}}'
    broken = HEAD + b'\r\ndata: {"error": {"message": "boom"}}\n\ndata: [DONE]\n\n'
    silent = HEAD + b"\r\n" + chunk(role="assistant") + b"data: [DONE]\n\n"
    faults = [reply([(1, wire)] if wire else [], 0.0, 1).fault for wire in (refused, broken, silent, b"")]
    assert faults[0].startswith("status 503")
    assert "boom" in faults[1]
    assert faults[2] == "no text"
    assert faults[3].startswith("status 0")


@given(st.lists(st.floats(-1e6, 1e6), min_size=1))
def test_quantiles_lie_between_the_values_and_in_order(values):
    low, middle, high = (quantile(values, part) for part in (0, 0.5, 1))
    assert (low, high) == (min(values), max(values))
    assert low <= middle <= high
