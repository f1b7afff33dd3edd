"""Transcripts: however an answer was cut into events, its transcript is the same."""

from itertools import pairwise

import msgspec
from hypothesis import example, given
from hypothesis import strategies as st

from mlxp_core.desk import Ticket
from mlxp_core.server.transcript import told, transcript
from mlxp_core.types import (
    CallBroken,
    CallDelta,
    CallDone,
    CallStarted,
    Failed,
    Finished,
    GenerateRequest,
    Prefilled,
    SaidCall,
    SaidText,
    SaidThinking,
    Started,
    TextDelta,
    ThinkingDelta,
    Timing,
    ToldChoice,
    Transcript,
    Usage,
    WireRequest,
)

USAGE, TIMING = Usage(prompt=3, completion=9, thinking=2), Timing(1.0, 2.0, 3.0)

texts = st.text('ab {"\n\\é', min_size=1, max_size=8)
parts = st.lists(
    st.one_of(
        texts.map(SaidText),
        texts.map(SaidThinking),
        st.builds(SaidCall, texts, texts, st.none() | texts),
    ),
    max_size=6,
).filter(lambda said: all(type(a) is SaidCall or type(a) is not type(b) for a, b in pairwise(said)))


def cut(draw, text):
    """Return a text in pieces, none of them empty."""
    places = sorted(draw(st.sets(st.integers(1, len(text)), max_size=3)) - {len(text)})
    return [text[a:b] for a, b in zip([0, *places], [*places, len(text)], strict=True)]


def events_of(draw, said, choice):
    """Yield what the engine may have said for these parts."""
    yield Started("r", "m", seed=7 + choice, choice=choice)
    yield Prefilled(3, 3, choice=choice)
    index = -1
    for part in said:
        match part:
            case SaidText(text):
                yield from (TextDelta(piece, choice) for piece in cut(draw, text))
            case SaidThinking(text):
                yield from (ThinkingDelta(piece, choice) for piece in cut(draw, text))
            case SaidCall(name, arguments, broken):
                index += 1
                yield CallStarted(index, f"call{index}", name, choice)
                if broken is None:
                    yield from (CallDelta(index, piece, choice) for piece in cut(draw, arguments))
                    yield CallDone(index, choice)
                else:
                    yield CallDelta(index, "{", choice)
                    yield CallBroken(index, arguments, broken, choice)
    yield Finished("stop", USAGE, TIMING, "###", ("odd",), choice)


@given(st.lists(parts, min_size=1, max_size=3), st.data())
def test_any_cut_gives_the_same(choices, data):
    queues = [list(events_of(data.draw, said, choice)) for choice, said in enumerate(choices)]
    events = []
    while any(queues):
        events.append(data.draw(st.sampled_from([queue for queue in queues if queue])).pop(0))
    assert told(events) == tuple(
        ToldChoice(
            choice=choice,
            seed=7 + choice,
            said=tuple(said),
            reason="stop",
            stop="###",
            usage=USAGE,
            timing=TIMING,
            warnings=("odd",),
        )
        for choice, said in enumerate(choices)
    )


def test_a_choice_that_failed_says_why():
    [choice] = told([Started("r", "m", seed=1), TextDelta("a"), Failed("engine_fault", "it broke", 500)])
    assert (choice.said, choice.reason, choice.error) == ((SaidText("a"),), "failed", "it broke")


@example(b'{"a": "\xff"}')
@given(st.one_of(st.binary(max_size=40), st.just(b'{"a": [1, 2.50, "x"]}')))
def test_any_body_can_be_kept(body):
    request = GenerateRequest(id="r", model="m", prompt="x", adapters=("a",))
    ticket = Ticket(request, 1, leave=lambda: None, close=lambda: None)
    ticket.take([Started("r", "m", seed=5), Finished("stop", USAGE, TIMING)])
    wire = WireRequest(path="/p", headers={"authorization": "Bearer secret"}, body=body)
    made = transcript(ticket, wire, protocol="lines", version="1", at_s=0.5)
    data = msgspec.json.format(msgspec.json.encode(made))
    back = msgspec.json.decode(data, type=Transcript)
    assert b"secret" not in data
    assert (back.model, back.adapters, back.seed, back.choices) == ("m", ("a",), 5, made.choices)
    try:
        assert msgspec.json.decode(back.body) == msgspec.json.decode(body)
    except msgspec.DecodeError:
        assert msgspec.json.decode(back.body) == body.decode("utf-8", "replace")
