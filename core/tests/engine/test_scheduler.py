"""The laws of scheduling, on a runner of paper: whatever is asked, cancelled or broken, in whatever order."""

from itertools import pairwise

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlxp_core.engine.faults import contained
from mlxp_core.engine.orders import Cancel, CancelAll, Close, Submit
from mlxp_core.engine.scheduler import Scheduler
from mlxp_core.engine.steps import Decode, Fork, Load, Outcome, Prefill, Read, Rest
from mlxp_core.errors import ModelFolderError, Unavailable
from mlxp_core.testing.grammar import check_grammar
from mlxp_core.types import EngineSettings, Failed, Finished, Prefilled, Started, TextDelta

THERE = ("m", "a", "b")
"""Models that are loaded before a test begins that is not about loading."""


class House:
    """A scheduler with its runner, turned by hand."""

    def __init__(self, runner, clock, *, models=None, **engine):
        self.runner, self.clock = runner, clock
        settings = EngineSettings(**{"prompt_cache_bytes": 0, **engine})
        self.scheduler = Scheduler(THERE if models is None else models, settings, clock)
        while models is None and self.scheduler.snapshot().state == "loading":
            self.scheduler.settle(self.scheduler.next_step(), Outcome())
        self.asked, self.records, self.steps = [], [], []
        self.running = []  # before each step

    def submit(self, asked):
        self.asked.append(asked)
        return Submit(asked.orders, self.clock())

    def turn(self, *messages):
        self.scheduler.apply(messages)
        self.running.append(self.scheduler.snapshot().running)
        step = self.scheduler.next_step()
        self.steps.append(step)
        deliveries = self.scheduler.settle(step, contained(self.runner.run, step))
        for sink, events in deliveries.events:
            sink(events)
        self.records += deliveries.records
        stats = self.scheduler.snapshot()
        assert stats.prefilling + stats.running <= self.runner.batch_limit
        return step

    def run_dry(self, *messages):
        self.turn(*messages)
        for _ in range(2000):
            if self.scheduler.idle:
                return
            self.turn()
        pytest.fail("the scheduler never comes to rest")


@pytest.fixture(scope="session")
def house(paper, counting, clocks):
    def make(answer=counting, **engine):
        return House(paper(answer, batch=engine.get("batch", 32)), clocks(), **engine)

    return make


def text(heard, choice=0):
    return "".join(event.text for event in heard if isinstance(event, TextDelta) and event.choice == choice)


def last(heard, choice=0):
    return [event for event in heard if event.choice == choice][-1]


# ── One choice ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_choice_from_the_queue_to_its_last_token(house, orders):
    here, asked = house(prefill_chunk=2), orders(prompt=(7, 8, 9), max_tokens=3)
    here.run_dry(here.submit(asked))
    started, *middle, finished = asked.heard
    assert started == Started("r", "m", seed=5)
    assert [event for event in middle if isinstance(event, Prefilled)] == [Prefilled(2, 3), Prefilled(3, 3)]
    assert text(asked.heard) == "1000 1001 1002 "
    assert (finished.reason, finished.usage.prompt, finished.usage.completion) == ("length", 3, 3)
    assert finished.timing.queued_s > 0
    assert finished.timing.prefill_s > 0
    assert finished.timing.decode_s > 0
    check_grammar(asked.heard)
    [record] = here.records
    assert (record.protocol, record.reason, record.usage) == ("test", "length", finished.usage)
    assert record.timing == finished.timing


def test_an_end_token_ends_and_what_was_drawn_ahead_is_dropped(house, orders):
    here, asked = house(lambda _: [11, 12, 0, 99, 99]), orders(max_tokens=5)
    here.run_dry(here.submit(asked))
    assert text(asked.heard) == "11 12 "
    assert last(asked.heard).reason == "stop"
    assert last(asked.heard).usage.completion == 3
    assert here.runner.drawn[0] == 4


def test_a_stop_string_ends_at_once(house, orders):
    here, asked = house(), orders(stop=("1001",))
    here.run_dry(here.submit(asked))
    assert (text(asked.heard), last(asked.heard).stop) == ("1000 ", "1001")


def test_several_tokens_in_one_draw_end_where_they_end(house, orders):
    here, asked = house(), orders(max_tokens=4)
    take = here.runner.take
    here.runner.take = lambda ahead: [
        msgspec.structs.replace(d, tokens=(d.tokens[0], 5, 6)) for d in take(ahead)
    ]
    here.run_dry(here.submit(asked))
    assert text(asked.heard) == "1000 5 6 1001 "
    assert last(asked.heard).usage.completion == 4


# ── Many ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_rows_are_given_first_come_first_served(house, orders):
    here = house(batch=2)
    told = []
    asked = [orders(f"r{i}", max_tokens=1 + i % 3, sink=told.extend) for i in range(7)]
    here.run_dry(*(here.submit(one) for one in asked))
    assert [e.request_id for e in told if isinstance(e, Started)] == [f"r{i}" for i in range(7)]


def test_a_long_prompt_never_stalls_running_answers(house, orders):
    here = house(prefill_chunk=4)
    here.turn(here.submit(orders("short", max_tokens=40)))
    here.turn()
    here.run_dry(here.submit(orders("long", prompt=range(1, 30))))
    kinds = [type(step) for step in here.steps[1:]]
    chunks = [at for at, kind in enumerate(kinds) if kind is Prefill]
    assert len(chunks) == 8
    assert all(kinds[at + 1] is Decode for at in chunks)


def test_a_full_batch_never_stalls_a_prompt(house, orders):
    here = house(prefill_chunk=4)
    here.turn(here.submit(orders("short", max_tokens=40)))
    here.run_dry(here.submit(orders("long", prompt=range(1, 30))))
    computed = [type(step) for step in here.steps if not isinstance(step, Read)]
    chunks = [at for at, kind in enumerate(computed) if kind is Prefill]
    assert max(b - a for a, b in pairwise(chunks)) <= 2


def test_the_first_token_waits_for_no_second_one(house, orders):
    here, asked = house(), orders(max_tokens=4)
    here.run_dry(here.submit(asked))
    assert [type(step) for step in here.steps[:3]] == [Prefill, Read, Decode]


def test_where_others_are_answered_nothing_pauses_for_a_first_token(house, orders):
    here = house()
    here.turn(here.submit(orders("first", max_tokens=40)))
    here.turn()
    here.turn()
    begun = len(here.steps)
    here.turn(here.submit(orders("second", max_tokens=4)))
    here.turn()
    here.turn()
    assert sorted(type(step).__name__ for step in here.steps[begun:]) == ["Decode", "Decode", "Prefill"]


def test_choices_of_one_request_read_the_prompt_once(house, orders):
    here, asked = house(prefill_chunk=2), orders(prompt=range(1, 8), choices=3, max_tokens=2)
    here.run_dry(here.submit(asked))
    assert [len(s.rows) for s in here.steps if isinstance(s, Fork)] == [2]
    assert sum(isinstance(s, Prefill) for s in here.steps) == 4
    assert [text(asked.heard, choice) for choice in range(3)] == ["1000 1001 ", "2000 2001 ", "3000 3001 "]
    assert sorted(e.seed for e in asked.heard if isinstance(e, Started)) == [5, 6, 7]
    check_grammar(asked.heard, choices=3)
    assert not here.runner.prefixes


def test_more_choices_than_rows_come_in_waves(house, orders):
    here, asked = house(batch=2), orders(choices=5, max_tokens=3)
    here.run_dry(here.submit(asked))
    check_grammar(asked.heard, choices=5)
    assert sum(isinstance(s, Prefill) for s in here.steps) == 1
    assert not here.runner.held


def test_a_sibling_reads_the_prompt_when_the_first_choice_fails(house, orders):
    here, asked = house(), orders(choices=3, max_tokens=2)
    here.runner.faults = [ValueError("no such stage")]
    here.run_dry(here.submit(asked))
    assert isinstance(last(asked.heard, 0), Failed)
    assert [last(asked.heard, choice).reason for choice in (1, 2)] == ["length", "length"]


def test_models_take_turns(house, orders):
    here = house(batch=2)
    told = []
    asked = [orders(f"{m}{i}", model=m, max_tokens=2, sink=told.extend) for i in range(6) for m in ("a", "b")]
    here.run_dry(*(here.submit(one) for one in asked))
    order = [e.model for e in told if isinstance(e, Started)]
    assert order.count("a") == order.count("b") == 6
    assert "".join(order) == "aaabbbbbaaab"


# ── Constraints ─────────────────────────────────────────────────────────────────────────────────────────────────────


class Rule:
    """A constraint that remembers; it fails when asked for a mask the ``fails_at``-th time."""

    def __init__(self, fails_at=None):
        self.taken, self.asked, self.fails_at = [], 0, fails_at

    def allowed(self):
        self.asked += 1
        if self.asked == self.fails_at:
            raise KeyError("a state it does not know")
        return bytes([len(self.taken)])

    def advance(self, token):
        self.taken.append(token)


def test_a_constrained_row_is_masked_by_all_tokens_before(house, orders):
    rule = Rule()
    here, asked = house(), orders(max_tokens=4, constraints=[rule])
    here.turn(here.submit(orders("free", max_tokens=30)))
    here.run_dry(here.submit(asked))
    assert rule.taken == [2000, 2001, 2002]
    masks = [mask() for s in here.steps if isinstance(s, Prefill | Decode) for mask in s.masks.values()]
    assert masks == [bytes([n]) for n in range(4)]


@pytest.mark.parametrize("fails_at", [1, 3])
def test_a_constraint_that_fails_fails_its_row_alone(house, orders, fails_at):
    here, asked, other = house(), orders(constraints=[Rule(fails_at)]), orders("other", max_tokens=20)
    here.run_dry(here.submit(other), here.submit(asked))
    assert (last(asked.heard).status, last(asked.heard).code) == (500, "engine_fault")
    assert last(other.heard).usage.completion == 20
    assert not here.runner.held


def test_prompts_that_keep_coming_do_not_starve_a_constrained_batch(house, orders):
    here, asked = house(batch=2), orders(max_tokens=5, constraints=[Rule()])
    here.turn(here.submit(asked))
    for number in range(40):
        here.turn(here.submit(orders(f"r{number}", max_tokens=1)))
    assert last(asked.heard).usage.completion == 5


# ── Leaving and failing ─────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("turns", range(8))
def test_cancel_at_any_time_frees_the_row_with_the_next_step(house, orders, turns):
    here, asked = house(prefill_chunk=1), orders(max_tokens=50)
    here.turn(here.submit(asked))
    for _ in range(turns):
        here.turn()
    here.turn(Cancel("r"))
    assert here.scheduler.idle
    assert not here.runner.held
    finished = last(asked.heard)
    assert finished.reason == "cancelled"
    assert finished.usage.completion == len(text(asked.heard).split())
    assert finished.usage.prompt == max(e.done for e in asked.heard if isinstance(e, Prefilled))
    check_grammar(asked.heard)


def test_cancel_in_the_queue(house, orders):
    here, asked = house(batch=1), orders("second")
    here.turn(here.submit(orders("first")), here.submit(asked))
    here.turn(Cancel("second"))
    assert [type(event) for event in asked.heard] == [Finished]
    check_grammar(asked.heard)
    assert asked.heard[0].usage.prompt == 0


def test_a_reader_that_fails_fails_its_row_alone(house, orders):
    here, bad, good = house(), orders("bad"), orders("good")
    bad.orders[0].reader._table = None
    bad.orders[0].reader._detokenizer = None
    here.run_dry(here.submit(bad), here.submit(good))
    assert (last(bad.heard).status, last(bad.heard).code) == (500, "engine_fault")
    assert last(good.heard).reason == "length"


def test_a_step_that_fails_fails_its_rows_and_no_more(house, orders):
    here, running, reading = house(prefill_chunk=1), orders("running", max_tokens=30), orders("reading")
    here.turn(here.submit(running))
    for _ in range(4):
        here.turn()
    here.turn(here.submit(reading))
    while not isinstance(here.turn(), Prefill):
        pass
    here.runner.faults = [RuntimeError("the device is full")]
    assert isinstance(here.turn(), Decode)
    here.run_dry()
    assert isinstance(last(running.heard), Failed)
    assert "the device is full" in last(running.heard).message
    assert last(reading.heard).reason == "length"
    check_grammar(running.heard)


def test_our_own_errors_keep_their_code(house, orders):
    here, asked = house(), orders()
    here.runner.faults = [Unavailable("gone")]
    here.run_dry(here.submit(asked))
    assert (last(asked.heard).status, last(asked.heard).message) == (503, "gone")


def test_a_model_that_cannot_be_loaded_ends_the_scheduler(house, orders):
    here, asked = house(models=("m",)), orders()
    here.runner.carry_out = lambda _: (_ for _ in ()).throw(ModelFolderError("shard 2 is damaged"))
    with pytest.raises(ModelFolderError, match="shard 2"):
        here.turn(here.submit(asked))
    unread = Submit(orders("late").orders, 0.0)
    deliveries = here.scheduler.abandon(Unavailable("lost"), [unread, Cancel("late")])
    assert [type(e) for _, events in deliveries.events for e in events] == [Failed, Failed]
    assert len(deliveries.records) == 2


def test_models_are_loaded_before_anything_else(house, orders):
    here, asked = house(models=("m", "n")), orders()
    assert here.scheduler.snapshot().state == "loading"
    here.turn(here.submit(asked))
    assert here.scheduler.snapshot().state == "loading"
    here.turn()
    assert here.scheduler.snapshot().state == "ready"
    here.run_dry()
    assert [type(step) for step in here.steps[:3]] == [Load, Load, Prefill]
    assert last(asked.heard).reason == "length"


def test_closing_sends_the_queue_away_and_lets_rows_end(house, orders):
    here, running, waiting = house(batch=1), orders("a", max_tokens=5), orders("b")
    here.turn(here.submit(running), here.submit(waiting))
    here.turn(Close(deadline_s=1e9))
    assert here.scheduler.snapshot().state == "stopping"
    assert last(waiting.heard).status == 503
    here.run_dry()
    assert last(running.heard).reason == "length"


def test_closing_cancels_at_the_deadline_the_earliest_one(house, orders):
    here, running = house(), orders("a", max_tokens=500)
    here.turn(here.submit(running))
    here.turn(Close(deadline_s=1e9))
    here.turn(Close(deadline_s=0.0))
    here.run_dry(Close(deadline_s=1e9))
    assert last(running.heard).reason == "cancelled"
    assert len(here.steps) < 6


def test_a_later_deadline_does_not_give_more_time(house, orders):
    here, running = house(), orders("a", max_tokens=500)
    here.turn(here.submit(running))
    here.turn(Close(deadline_s=here.clock() + 20))
    here.run_dry(Close(deadline_s=1e9))
    assert last(running.heard).reason == "cancelled"


def test_nobody_listens_any_more(house, orders):
    here = house(batch=2)
    here.turn(*(here.submit(orders(f"r{i}")) for i in range(5)))
    here.turn(CancelAll())
    assert here.scheduler.idle
    assert here.scheduler.snapshot().cancelled == 5


# ── Whatever happens ────────────────────────────────────────────────────────────────────────────────────────────────

REQUESTS = st.fixed_dictionaries(
    {
        "prompt": st.integers(1, 12).map(lambda n: tuple(range(1, n + 1))),
        "choices": st.integers(1, 4),
        "max_tokens": st.integers(1, 9),
        "model": st.sampled_from("ab"),
        "constrained": st.booleans(),
        "ends_at": st.integers(0, 12),
    }
)
ACTIONS = st.one_of(
    st.tuples(st.just("submit"), REQUESTS),
    st.tuples(st.just("cancel"), st.integers(0, 20)),
    st.tuples(st.just("turns"), st.integers(1, 6)),
    st.tuples(st.just("fault"), st.just(RuntimeError("broken"))),
)


def play(here, orders, actions):
    """Carry the actions out; return where each request's answer would end by itself."""
    ends, messages, count = {}, [], 0
    here.runner.answer = lambda s: [
        0 if step == ends[s.request_id] else 100 + step for step in range(s.max_tokens)
    ]
    for name, what in actions:
        match name:
            case "submit":
                fields = dict(what)
                ends[f"r{count}"] = fields.pop("ends_at")
                rules = [Rule() for _ in range(fields["choices"])] if fields.pop("constrained") else ()
                messages.append(here.submit(orders(f"r{count}", constraints=rules, **fields)))
                count += 1
            case "cancel":
                messages.append(Cancel(f"r{what}"))
            case "turns":
                for _ in range(what):
                    here.turn(*messages)
                    messages = []
            case "fault":
                here.runner.faults.append(what)
    here.run_dry(*messages)
    return ends


@settings(max_examples=150, deadline=None)
@given(actions=st.lists(ACTIONS, max_size=40), batch=st.integers(1, 5), chunk=st.integers(1, 5))
def test_every_choice_gets_one_last_event_and_nothing_is_left(house, orders, actions, batch, chunk):
    here = house(batch=batch, prefill_chunk=chunk)
    ends = play(here, orders, actions)
    assert not here.runner.held
    assert not here.runner.prefixes
    for asked in here.asked:
        check_grammar(asked.heard, choices=asked.request.choices)
        for choice in range(asked.request.choices):
            check_answer(asked, choice, ends[asked.request.id])
    choices = sum(asked.request.choices for asked in here.asked)
    stats = here.scheduler.snapshot()
    assert len(here.records) == choices == stats.finished + stats.failed + stats.cancelled
    assert stats.waiting == stats.prefilling == stats.running == stats.cache_bytes == 0
    check_turns(here)


def check_answer(asked, choice, end):
    heard = [event for event in asked.heard if event.choice == choice]
    said = text(heard, choice).split()
    whole = [str(100 + step) for step in range(min(end, asked.request.max_tokens))]
    assert said == whole[: len(said)]
    if isinstance(heard[-1], Finished) and heard[-1].reason != "cancelled":
        assert said == whole
        assert heard[-1].reason == ("stop" if end < asked.request.max_tokens else "length")


def check_turns(here):
    """Between two chunks a batch that has rows has stepped; readings and rests do not count."""
    turns = zip(here.steps, here.running, strict=True)
    busy = [(step, running) for step, running in turns if not isinstance(step, Read | Rest)]
    for (first, _), (second, running) in pairwise(busy):
        if isinstance(first, Prefill | Fork) and isinstance(second, Prefill | Fork):
            assert not running
