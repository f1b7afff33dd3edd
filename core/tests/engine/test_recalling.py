"""What the scheduler makes of a prompt cache: who is asked when, and what is read then; the runner is one of paper."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlxp_core.engine.faults import contained
from mlxp_core.engine.orders import Cancel, Submit
from mlxp_core.engine.scheduler import Scheduler
from mlxp_core.engine.sequence import Recalled
from mlxp_core.engine.steps import Decode, Fork, Outcome, Prefill, Recall
from mlxp_core.errors import EngineFault
from mlxp_core.testing.grammar import check_grammar
from mlxp_core.types import EngineSettings, Finished, Prefilled


@pytest.fixture(scope="module")
def knowing(paper, counting):
    class Knowing(paper):
        """Knows beginnings of prompts by request id; may have to be asked several times."""

        def __init__(self, known, *, asks=0, stops=(), **more):
            super().__init__(counting, **more)
            self.known, self.asks, self.stops, self.broken = known, asks, stops, False

        @property
        def sequences(self):
            asked = (step.sequence for step in self.log if isinstance(step, Recall))
            return {**super().sequences, **{sequence.key: sequence for sequence in asked}}

        def run(self, step):
            if not isinstance(step, Recall):
                return super().run(step)
            self.sweep()
            self.log.append(step)
            if self.broken:
                raise EngineFault("the cache is broken")
            if self.asks and not step.wait:
                self.asks -= 1
                return Outcome(recalled=Recalled(waiting=True))
            cached = self.known.get(step.sequence.request_id, 0)
            self.read[step.sequence.key] = cached
            return Outcome(recalled=Recalled(cached, tuple(s for s in self.stops if s > cached)))

    return Knowing


class House:
    def __init__(self, runner, clock, **engine):
        self.runner, self.clock = runner, clock
        self.scheduler = Scheduler(["m"], EngineSettings(prompt_cache_bytes=None, **engine), clock)
        while self.scheduler.snapshot().state == "loading":
            self.scheduler.settle(self.scheduler.next_step(), Outcome())
        self.steps = []

    def turn(self, *messages):
        self.scheduler.apply(messages)
        step = self.scheduler.next_step()
        self.steps.append(step)
        for sink, events in self.scheduler.settle(step, contained(self.runner.run, step)).events:
            sink(events)
        return step

    def run_dry(self, *messages):
        self.turn(*messages)
        for _ in range(2000):
            if self.scheduler.idle:
                return
            self.turn()
        pytest.fail("the scheduler never comes to rest")


@pytest.fixture(scope="module")
def house(clocks):
    return lambda runner, **engine: House(runner, clocks(), **engine)


def submit(*asked):
    return [Submit(one.orders, 0.0) for one in asked]


def chunks(here, request_id):
    return [
        (step.start, step.count)
        for step in here.steps
        if isinstance(step, Prefill) and step.sequence.request_id == request_id
    ]


def test_only_the_rest_of_a_prompt_is_read_and_it_is_told(house, knowing, orders):
    asked = orders("r", prompt=range(1, 21))
    here = house(knowing({"r": 12}), prefill_chunk=5)
    here.run_dry(*submit(asked))
    assert chunks(here, "r") == [(12, 5), (17, 3)]
    told = [event for event in asked.heard if isinstance(event, Prefilled)]
    assert [(event.done, event.cached) for event in told] == [(17, 12), (20, 12)]
    assert asked.heard[-1].usage.cached == 12
    check_grammar(asked.heard)


def test_reading_pauses_where_it_is_asked_to(house, knowing, orders):
    here = house(knowing({}, stops=(7, 8, 20)), prefill_chunk=10)
    here.run_dry(*submit(orders("r", prompt=range(1, 31))))
    assert chunks(here, "r") == [(0, 7), (7, 1), (8, 10), (18, 2), (20, 10)]


def test_a_prompt_is_asked_for_once_and_right_before_it_is_read(house, knowing, orders):
    here = house(knowing({}), prefill_chunk=4, batch=3)
    here.run_dry(*submit(*(orders(f"r{number}", prompt=range(1, 10)) for number in range(5))))
    asked = [step.sequence.request_id for step in here.steps if isinstance(step, Recall)]
    assert asked == [f"r{number}" for number in range(5)]
    for place, step in enumerate(here.steps):
        if isinstance(step, Recall):
            following = here.steps[place + 1]
            assert isinstance(following, Prefill)
            assert following.sequence is step.sequence


def test_choices_that_fork_are_not_asked_for_and_share_what_was_known(house, knowing, orders):
    asked = orders("r", prompt=range(1, 21), choices=4)
    here = house(knowing({"r": 12}), batch=2)
    here.run_dry(*submit(asked))
    assert sum(isinstance(step, Recall) for step in here.steps) == 1
    assert sum(len(step.rows) for step in here.steps if isinstance(step, Fork)) == 3
    ends = [event for event in asked.heard if isinstance(event, Finished)]
    assert [(end.usage.prompt, end.usage.cached) for end in ends] == [(20, 12)] * 4
    check_grammar(asked.heard, choices=4)


def test_others_go_on_while_a_prompt_waits_for_the_disk(house, knowing, orders):
    runner = knowing({"late": 12}, asks=5)
    here = house(runner, batch=2)
    here.turn(*submit(orders("early", max_tokens=30)))
    while not any(isinstance(step, Decode) for step in here.steps):
        here.turn()
    here.steps.clear()
    late = orders("late", prompt=range(1, 21))
    here.run_dry(*submit(late))
    kinds = [type(step) for step in here.steps]
    first = kinds.index(Prefill)
    assert kinds[:first].count(Recall) == 6
    assert kinds[:first].count(Decode) >= 5
    assert late.heard[-1].usage.cached == 12


def test_whoever_is_alone_waits_for_the_disk(house, knowing, orders):
    here = house(knowing({"r": 12}, asks=10**9))
    asked = orders("r", prompt=range(1, 21))
    here.run_dry(*submit(asked))
    assert asked.heard[-1].usage.cached == 12


def test_a_cache_that_fails_costs_nobody_an_answer(house, knowing, orders):
    runner = knowing({"r": 12})
    runner.broken = True
    here = house(runner)
    asked = orders("r", prompt=range(1, 21))
    here.run_dry(*submit(asked))
    assert chunks(here, "r") == [(0, 20)]
    assert (asked.heard[-1].reason, asked.heard[-1].usage.cached) == ("length", 0)


@settings(max_examples=60, deadline=None)
@given(
    known=st.lists(st.integers(0, 14), min_size=6, max_size=6),
    asks=st.integers(0, 6),
    engine=st.fixed_dictionaries({"batch": st.integers(1, 4), "prefill_chunk": st.integers(1, 9)}),
    cancelled=st.dictionaries(st.integers(0, 5), st.integers(0, 30), max_size=3),
)
def test_whatever_is_known_everybody_is_answered(house, knowing, orders, **drawn):
    known, asks, engine, cancelled = (drawn[name] for name in ("known", "asks", "engine", "cancelled"))
    runner = knowing({f"r{n}": cached for n, cached in enumerate(known)}, asks=asks, batch=engine["batch"])
    here = house(runner, **engine)
    everybody = [orders(f"r{n}", prompt=range(1, 16), max_tokens=6, choices=1 + n % 2) for n in range(6)]
    here.turn(*submit(*everybody))
    for number in range(31):
        here.turn(*(Cancel(f"r{n}") for n, at in cancelled.items() if at == number))
    here.run_dry()
    for n, asked in enumerate(everybody):
        check_grammar(asked.heard, choices=1 + n % 2)
        for end in asked.heard:
            if isinstance(end, Finished) and end.reason != "cancelled":
                assert (end.usage.prompt, end.usage.cached) == (15, known[n])
    assert not runner.held
