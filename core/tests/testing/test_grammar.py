"""Each rule of the grammar, broken once."""

import pytest

from mlxp_core.testing.grammar import check_grammar
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
    Timing,
    Usage,
)

BEGIN = (Started("r", "m"), Prefilled(2, 5), Prefilled(5, 5))
CALL = (CallStarted(0, "c", "add"), CallDelta(0, "{}"), CallDone(0))


USAGE = Usage(prompt=5, completion=3)


def end(reason="stop", usage=USAGE, **more):
    return Finished(reason, usage, Timing(), **more)


BROKEN = {
    "no last event": BEGIN,
    "something after the last event": (*BEGIN, end(), TextDelta("x")),
    "two beginnings": (*BEGIN, Started("r", "m"), end()),
    "no beginning": (TextDelta("x"), end()),
    "finished at the door": (end(),),
    "prefill after text": (*BEGIN, TextDelta("x"), Prefilled(5, 5), end()),
    "prefill backwards": (*BEGIN, Prefilled(4, 5), end()),
    "prefill of another length": (*BEGIN, Prefilled(6, 6), end()),
    "prompt not read to its end": (*BEGIN[:2], end()),
    "empty delta": (*BEGIN, TextDelta(""), end()),
    "text inside a call": (*BEGIN, *CALL[:2], TextDelta("x"), CALL[2], end("calls")),
    "call not ended": (*BEGIN, *CALL[:2], end()),
    "call within a call": (*BEGIN, *CALL[:2], CallStarted(1, "d", "add"), end()),
    "call ended twice": (*BEGIN, *CALL, CallDone(0), end("calls")),
    "index does not count": (*BEGIN, CallStarted(1, "c", "add"), end()),
    "delta of another call": (*BEGIN, CALL[0], CallDelta(1, "{}"), CALL[2], end("calls")),
    "arguments are no JSON": (*BEGIN, CALL[0], CallDelta(0, "{"), CALL[2], end("calls")),
    "arguments are no object": (*BEGIN, CALL[0], CallDelta(0, "[]"), CALL[2], end("calls")),
    "calls without a call": (*BEGIN, end("calls")),
    "calls with broken ones only": (*BEGIN, CALL[0], CallBroken(0, "", "cut"), end("calls")),
    "stop string but length": (*BEGIN, end("length", stop="x")),
    "more thinking than tokens": (*BEGIN, end(usage=Usage(prompt=5, completion=1, thinking=2))),
    "more cached than prompt": (*BEGIN, end(usage=Usage(prompt=5, cached=6))),
    "another prompt in the usage": (*BEGIN, end(usage=Usage(prompt=4))),
    "an unknown choice": (*BEGIN, TextDelta("x", choice=1), end()),
}


@pytest.mark.parametrize("events", BROKEN.values(), ids=BROKEN)
def test_a_broken_rule_is_found(events):
    with pytest.raises((AssertionError, ValueError)):
        check_grammar(events)


@pytest.mark.parametrize(
    "events",
    [
        (*BEGIN, end()),
        (*BEGIN, *CALL, TextDelta("x"), end("calls")),
        (*BEGIN, *CALL[:2], Failed("engine_fault", "gone", 500)),
        (Failed("unavailable", "gone", 503),),
        (end("cancelled", usage=Usage()),),
        (*BEGIN[:2], end("cancelled", usage=Usage(prompt=2))),
    ],
)
def test_what_follows_the_rules_passes(events):
    check_grammar(events)


def test_an_unfinished_run_passes_where_that_is_wanted():
    check_grammar(BEGIN, complete=False)
