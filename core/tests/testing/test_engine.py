"""The scripted engine keeps the real one's promises."""

from collections import deque

import pytest

from mlxp_core.engine import Order
from mlxp_core.errors import Busy, EngineFault, Unavailable
from mlxp_core.prompting import Prompt
from mlxp_core.reading import Reader
from mlxp_core.testing.engine import HOLD, ScriptedEngine
from mlxp_core.testing.grammar import check_grammar
from mlxp_core.testing.scripts import FAILURES, SCRIPTS, TWO_CALLS
from mlxp_core.types import CallBroken, Failed, Finished, GenerateRequest, Sampling, Started, TextDelta

END = 0


class Letters:
    """A tokenizer whose tokens are the letters' own codes."""

    def __init__(self):
        self.added_tokens = self.special_tokens = {END: "<end>"}

    def token_id(self, text):
        return ord(text) if len(text) == 1 else None

    def token_bytes(self, token):
        return chr(token).encode() if token else b""

    def decode(self, tokens, *, special=True):
        return "".join(map(chr, tokens))


class Loop:
    """An event loop reduced to its queue."""

    def __init__(self):
        self.calls = deque()

    def run(self, turns=10_000):
        while self.calls and turns:
            self.calls.popleft()()
            turns -= 1


@pytest.fixture
def loop():
    return Loop()


def started(loop, script, **more):
    engine = ScriptedEngine(script, **more)
    engine.start(loop.calls.append)
    return engine


def ask(heard, request_id="r", *, choices=1, **asked):
    sampling = Sampling(seed=7)
    request = GenerateRequest(
        id=request_id, model="m", prompt="hi", sampling=sampling, **{"max_tokens": 50, **asked}
    )
    return [
        Order(
            request=request,
            prompt=Prompt(tokens=(104, 105)),
            reader=Reader(request, table=Letters(), end_tokens=frozenset({END}), choice=choice),
            model="m",
            sink=heard.extend,
            choice=choice,
        )
        for choice in range(choices)
    ]


def text(events):
    return "".join(event.text for event in events if isinstance(event, TextDelta))


@pytest.mark.parametrize("script", [s for s in (*SCRIPTS, *FAILURES) if s.choices == 1], ids=lambda s: s.name)
def test_events_are_said_as_they_are(loop, script):
    heard = []
    started(loop, script.events).submit(ask(heard))
    loop.run()
    own = [Started("r", "m", seed=7) if isinstance(event, Started) else event for event in script.events]
    assert heard == own


def test_tokens_go_through_the_reader(loop):
    heard, records = [], []
    started(loop, map(ord, "Hello, you\0never"), on_record=records.append).submit(ask(heard, stop=(" you",)))
    loop.run()
    check_grammar(heard)
    assert text(heard) == "Hello,"
    assert (heard[-1].reason, heard[-1].stop, heard[-1].usage.prompt) == ("stop", " you", 2)
    assert records[0].usage == heard[-1].usage


@pytest.mark.parametrize(("limit", "said"), [(3, "Hel"), (50, "Hello")])
def test_tokens_run_out_or_reach_the_limit(loop, limit, said):
    heard = []
    started(loop, [ord(letter) for letter in "Hello"]).submit(ask(heard, max_tokens=limit))
    loop.run()
    check_grammar(heard)
    assert (text(heard), heard[-1].reason) == (said, "length")


def test_choices_interleave_a_piece_a_turn(loop):
    heard = []
    started(loop, lambda order: [ord("ab"[order.choice])] * 3).submit(ask(heard, choices=2, max_tokens=3))
    loop.run()
    check_grammar(heard, choices=2)
    assert text(heard) == "ababab"
    assert [event.seed for event in heard if isinstance(event, Started)] == [7, 8]


def test_it_holds_until_released_and_can_be_cancelled_there(loop):
    first, second = [], []
    engine = started(loop, [ord("a"), HOLD, ord("b"), END])
    engine.submit(ask(first, "first"))
    engine.submit(ask(second, "second"))
    loop.run()
    assert engine.holding == ("first", "second")
    assert not loop.calls
    assert engine.cancel("second")
    engine.release("first")
    loop.run()
    assert (text(first), first[-1].reason) == ("ab", "stop")
    assert (text(second), second[-1].reason) == ("a", "cancelled")
    assert not engine.cancel("second")
    assert engine.cancelled == ["second"]
    assert engine.stats().running == 0


def test_a_cancelled_call_is_closed_as_broken(loop):
    heard = []
    engine = started(loop, [*TWO_CALLS.events[:5], HOLD])
    engine.submit(ask(heard))
    loop.run()
    engine.cancel("r")
    loop.run()
    check_grammar(heard)
    assert isinstance(heard[-2], CallBroken)


def test_it_can_fail_midway(loop):
    heard = []
    engine = started(loop, [ord("a"), EngineFault("the device gave up")])
    engine.submit(ask(heard))
    loop.run()
    check_grammar(heard)
    assert heard[-1] == Failed("engine_fault", "the device gave up", 500)
    assert engine.stats().failed == 1


def test_it_is_busy_beyond_its_places(loop):
    engine = started(loop, [HOLD], places=2)
    engine.submit(ask([], "a", choices=2))
    with pytest.raises(Busy) as busy:
        engine.submit(ask([], "b"))
    assert busy.value.headers[0][0] == "Retry-After"


def test_orders_wait_while_it_loads(loop):
    heard = []
    engine = started(loop, [END], loading=True)
    engine.submit(ask(heard))
    loop.run()
    assert (heard, engine.stats().waiting, engine.wait_ready(0)) == ([], 1, False)
    engine.load()
    loop.run()
    assert heard[-1].reason == "stop"
    assert engine.wait_ready(0)


def test_when_it_is_lost_everybody_gets_an_answer(loop):
    heard = []
    engine = started(loop, [HOLD])
    engine.submit(ask(heard))
    loop.run()
    engine.lose("thread died")
    loop.run()
    assert (heard[-1].status, engine.stats().state, engine.stats().fault) == (503, "lost", "thread died")
    with pytest.raises(Unavailable):
        engine.submit(ask([]))
    with pytest.raises(Unavailable):
        engine.wait_ready()


def test_stopping_takes_nothing_new_and_cancels_without_grace(loop):
    heard = []
    engine = started(loop, [ord("a"), HOLD])
    engine.submit(ask(heard))
    loop.run()
    engine.stop(5)
    loop.run()
    assert not isinstance(heard[-1], Finished)
    engine.stop(0)
    loop.run()
    assert heard[-1].reason == "cancelled"
    with pytest.raises(Unavailable):
        engine.submit(ask([]))
