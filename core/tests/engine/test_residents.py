"""The laws of models that share a memory: who is loaded, who goes, and when."""

from collections import Counter
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from mlxp_core.engine.faults import contained
from mlxp_core.engine.house import House
from mlxp_core.engine.orders import Cancel, Shelve, Submit
from mlxp_core.engine.residents import Residents, ShelfRules
from mlxp_core.engine.scheduler import Scheduler
from mlxp_core.engine.steps import Load, Outcome, Unload
from mlxp_core.errors import Conflict, ModelFolderError
from mlxp_core.memory import Account, Admission, Footprint
from mlxp_core.testing.grammar import check_grammar
from mlxp_core.types import EngineSettings, Failed, Finished, Started

ACTIONS = ("load", "unload", "pin", "unpin")
SIZES = {"a": 4, "b": 3, "c": 2, "d": 8}


def within(total):
    return lambda models: sum(SIZES[model] for model in models) <= total


def wanting(*models):
    """Return who stand in line for models."""
    return [SimpleNamespace(order=SimpleNamespace(model=model, adapters=())) for model in models]


def house(running=(), waiting=()):
    return House(wanting(*running), wanting(*waiting))


class Now:
    def __init__(self):
        self.s = 0.0

    def __call__(self):
        return self.s


class Shelf:
    """Residents whose steps are carried out at once."""

    def __init__(self, models="abcd", *, total=100, broken=(), **rules):
        self.now = Now()
        self.residents = Residents(models, ShelfRules(**rules), fits=within(total), clock=self.now)
        self.broken, self.steps = set(broken), []

    def settle(self, running=(), waiting=(), *, cramped=lambda: False):
        """Do what there is to do; returns the steps."""
        done = []
        while (step := self.residents.next(house(running, waiting), cramped=cramped)) is not None:
            done.append(step)
            assert len(done) < 20, "it never comes to rest"
            fault = (
                ModelFolderError("damaged") if step.model in self.broken and isinstance(step, Load) else None
            )
            self.residents.settle(step, fault or Outcome())
            if fault is not None:
                break
        return done

    def ask(self, model, action):
        heard = []
        self.residents.take(Shelve(model=model, action=action, reply=heard.append))
        return heard

    def tell(self):
        for reply in self.residents.replies():
            reply()

    @property
    def loaded(self):
        return "".join(sorted(self.residents.loaded))


@pytest.mark.parametrize(
    ("total", "pinned", "loaded"),
    [
        (100, "", "abcd"),
        (4, "", "a"),
        (7, "", "ab"),
        (6, "", "ac"),
        (1, "", "a"),
        (6, "c", "ac"),
        (12, "d", "ad"),
    ],
)
def test_the_start_loads_the_first_and_as_many_as_fit_beside_it_pinned_ones_first(total, pinned, loaded):
    shelf = Shelf(total=total, pinned=frozenset(pinned))
    assert shelf.settle() == [Load(model) for model in loaded]
    assert not shelf.residents.starting


def test_what_is_wanted_first_is_loaded_when_no_row_is_taken():
    shelf = Shelf("ab", total=4)
    shelf.settle()
    assert shelf.settle(running="a", waiting="b") == []
    assert shelf.settle(waiting="b") == [Unload("a"), Load("b")]
    assert shelf.settle(waiting="b") == []


def test_the_one_used_longest_ago_goes_and_rather_one_that_nobody_waits_for():
    shelf = Shelf("abcd", total=9)
    shelf.settle()
    assert shelf.loaded == "abc"
    shelf.residents.use("a")
    assert shelf.settle(waiting="d")[0] == Unload("b")
    shelf = Shelf("abcd", total=9)
    shelf.settle()
    assert shelf.settle(waiting="dab")[0] == Unload("c")


def test_no_more_goes_than_must():
    shelf = Shelf("abc", total=7)
    shelf.settle()
    assert shelf.settle(waiting="c") == [Unload("a"), Load("c")]
    assert shelf.loaded == "bc"


def test_idle_models_go_where_a_row_needs_their_room():
    shelf = Shelf("abc", total=9, pinned=frozenset("b"))
    shelf.settle()
    assert shelf.settle(waiting="a", cramped=lambda: "c" in shelf.loaded) == [Unload("c")]
    assert shelf.settle(waiting="a", cramped=lambda: True) == []
    assert shelf.settle(running="a", waiting="a", cramped=lambda: True) == []


def test_what_is_pinned_stays_even_where_that_leaves_just_the_least():
    shelf = Shelf("ab", total=4, pinned=frozenset("a"))
    shelf.settle()
    assert shelf.settle(waiting="b") == [Load("b")]
    assert shelf.loaded == "ab"


def test_an_idle_model_goes_after_its_time_and_is_loaded_again_when_it_is_wanted():
    shelf = Shelf("abc", pinned=frozenset("c"), unload_after_s=60)
    shelf.settle()
    shelf.now.s = 59
    assert (shelf.settle(), shelf.residents.rest_s(house())) == ([], 1)
    shelf.residents.use("b")
    shelf.now.s = 60
    assert shelf.settle(running="b") == [Unload("a")]
    shelf.now.s = 118
    assert shelf.residents.rest_s(house()) == 1
    assert shelf.residents.rest_s(house(running="b")) is None
    shelf.now.s = 500
    assert shelf.settle(running="b") == shelf.settle(waiting="b") == []
    assert shelf.settle() == [Unload("b")]
    assert shelf.loaded == "c"
    assert shelf.settle(waiting="a") == [Load("a")]


def test_without_a_time_nothing_ever_goes_by_itself():
    shelf = Shelf("ab")
    shelf.settle()
    shelf.now.s = 1e9
    assert (shelf.settle(), shelf.residents.rest_s(house())) == ([], None)


def test_what_is_asked_for_is_done_in_order_and_answered():
    shelf = Shelf("ab", total=4)
    shelf.settle()
    heard = [shelf.ask("b", "load"), shelf.ask("b", "unload"), shelf.ask("a", "load")]
    assert shelf.residents.holding
    assert shelf.settle() == [Unload("a"), Load("b"), Unload("b"), Load("a")]
    shelf.tell()
    assert heard == [[None], [None], [None]]
    assert not shelf.residents.holding


def test_what_is_there_already_is_answered_at_once():
    shelf = Shelf("ab", total=4)
    shelf.settle()
    heard = [shelf.ask("a", "load"), shelf.ask("b", "unload"), shelf.ask("b", "unpin")]
    assert shelf.settle() == []
    shelf.tell()
    assert heard == [[None]] * 3


def test_rows_drain_before_their_model_goes():
    shelf = Shelf("ab", total=4)
    shelf.settle()
    heard = shelf.ask("b", "load"), shelf.ask("b", "unload")
    assert shelf.settle(running="a") == []
    assert shelf.residents.holding
    assert shelf.settle() == [Unload("a"), Load("b"), Unload("b")]
    shelf.tell()
    assert heard == ([None], [None])


def test_a_pinned_model_is_not_unloaded_until_it_is_let_loose():
    shelf = Shelf("ab", pinned=frozenset("a"))
    shelf.settle()
    refused, loose, done = shelf.ask("a", "unload"), shelf.ask("a", "unpin"), shelf.ask("a", "unload")
    assert shelf.settle() == [Unload("a")]
    shelf.tell()
    assert isinstance(refused[0], Conflict)
    assert (loose, done) == ([None], [None])


def test_a_pin_that_leaves_no_room_for_another_model_is_refused():
    shelf = Shelf("abd", total=11)
    shelf.settle()
    fine, refused = shelf.ask("b", "pin"), shelf.ask("a", "pin")
    shelf.settle()
    shelf.tell()
    assert fine == [None]
    assert isinstance(refused[0], Conflict)
    assert "unpin" in refused[0].message
    assert shelf.residents.pinned == {"b"}


def test_the_only_model_may_always_be_pinned():
    shelf = Shelf("d", total=1)
    shelf.settle()
    heard = shelf.ask("d", "pin")
    shelf.settle()
    shelf.tell()
    assert heard == [None]


def test_a_model_of_the_start_that_fails_ends_everything_a_later_one_only_what_asked_for_it():
    with pytest.raises(ModelFolderError):
        Shelf("a", broken="a").settle()
    shelf = Shelf("ab", total=4, broken="b")
    shelf.settle()
    heard = shelf.ask("b", "load")
    shelf.settle()
    shelf.tell()
    assert isinstance(heard[0], ModelFolderError)
    assert not shelf.residents.holding


def test_who_still_asks_at_the_end_is_answered():
    shelf = Shelf("ab", total=4)
    heard = shelf.ask("b", "load")
    shelf.residents.abandon(Conflict("over"))
    shelf.tell()
    assert isinstance(heard[0], Conflict)
    assert shelf.settle() == []


@given(
    total=st.integers(8, 17),
    pinned=st.sets(st.sampled_from("abc"), max_size=1),
    turns=st.lists(
        st.tuples(
            st.text("abcd", max_size=3),
            st.sampled_from(["", *"abcd"]),
            st.sampled_from(["load", "unload", "pin", "unpin"]),
        ),
        max_size=12,
    ),
)
def test_whatever_is_wanted_it_fits_and_everybody_gets_the_model(total, pinned, turns):
    fits = within(total)
    if not all(fits({*pinned, model}) for model in "abcd"):
        return
    shelf = Shelf(total=total, pinned=frozenset(pinned))
    heard = []
    for waiting, asked, action in turns:
        if asked:
            heard.append(shelf.ask(asked, action))
        shelf.settle(waiting=waiting)
        shelf.tell()
        assert fits(shelf.loaded)
        assert shelf.residents.pinned <= set(shelf.loaded)
        assert not waiting or waiting[0] in shelf.loaded
    assert all(len(each) == 1 for each in heard)


# ── With rows ───────────────────────────────────────────────────────────────────────────────────────────────────────


def account(weights, context):
    return Account(Footprint(weights=weights, fixed=10), context=context)


class Turning:
    """A scheduler over models that take turns in a small memory, with the runner of paper."""

    def __init__(self, paper, counting, *, models="ab", total=15_000, weights=10_000, context=100, **rules):
        self.runner, self.now, batch = paper(counting, batch=2), Now(), 2
        accounts = {model: account(weights, context) for model in models}
        admission = Admission(accounts, total, chunk=8, staying=())
        settings = EngineSettings(batch=batch, prompt_cache_bytes=0)
        shelf = ShelfRules(**rules)
        self.scheduler = Scheduler(models, settings, self.now, admission, shelf=shelf)
        self.steps = []

    def turn(self, *messages):
        self.scheduler.apply(messages)
        step = self.scheduler.next_step()
        self.steps.append(step)
        deliveries = self.scheduler.settle(step, contained(self.runner.run, step))
        for sink, events in deliveries.events:
            sink(events)
        for reply in deliveries.replies:
            reply()
        return step

    def run_dry(self, *messages):
        self.turn(*messages)
        for _ in range(500):
            if self.scheduler.idle:
                return
            self.turn()
        pytest.fail("the scheduler never comes to rest")

    @property
    def moves(self):
        return [step for step in self.steps if isinstance(step, Load | Unload)]

    def states(self):
        return {model: state.state for model, state in self.scheduler.snapshot().models.items()}


@pytest.fixture
def turning(paper, counting):
    return lambda **more: Turning(paper, counting, **more)


def names(steps):
    return [(type(step).__name__, step.model) for step in steps]


def test_models_take_turns_and_rows_drain_between_them(turning, orders):
    here = turning()
    first, second, third = orders("1", model="a"), orders("2", model="b"), orders("3", model="a")
    here.run_dry(Submit(first.orders, 0.0), Submit(second.orders, 0.0), Submit(third.orders, 0.0))
    assert names(here.moves) == [("Load", "a"), ("Unload", "a"), ("Load", "b")]
    assert all(isinstance(asked.heard[-1], Finished) for asked in (first, second, third))
    assert here.states() == {"a": "on disk", "b": "loaded"}


def test_both_stay_where_both_fit(turning, orders):
    here = turning(total=30_000)
    here.run_dry(*(Submit(orders(name, model=name).orders, 0.0) for name in "abab"))
    assert names(here.moves) == [("Load", "a"), ("Load", "b")]


def test_a_row_that_needs_the_room_of_an_idle_model_gets_it(turning, orders):
    here = turning(total=100_000, weights=30_000, context=10_000)
    here.run_dry()
    assert here.runner.loaded == ["a", "b"]
    here.run_dry(Submit(orders("1", model="a").orders, 0.0))
    assert here.runner.loaded == ["a", "b"]
    large = orders("2", model="a", max_tokens=6000)
    here.turn(Submit(large.orders, 0.0))
    here.turn()
    assert here.runner.loaded == ["a"]
    assert isinstance(large.heard[0], Started)
    here.run_dry(Cancel("2"))


def test_states_and_counts_are_told_model_by_model(turning, orders):
    here = turning()
    here.run_dry(Submit(orders("1", model="a", max_tokens=3).orders, 0.0))
    waiting = orders("2", model="b", max_tokens=2)
    here.scheduler.apply([Submit(waiting.orders, 0.0)])
    assert here.states() == {"a": "loaded", "b": "loading"}
    here.run_dry()
    told = here.scheduler.snapshot().models
    assert (told["a"].finished, told["a"].completion_tokens, told["a"].loads) == (1, 3, 1)
    assert (told["b"].finished, told["b"].completion_tokens, told["b"].prompt_tokens) == (1, 2, 3)


def test_nothing_new_is_told_where_nothing_has_changed(turning):
    here = turning()
    here.run_dry()
    assert here.scheduler.snapshot().models is here.scheduler.snapshot().models


def test_a_model_that_cannot_be_loaded_fails_those_who_want_it_and_nobody_else(turning, orders):
    here = turning()
    here.run_dry()
    good, bad = orders("1", model="a"), orders("2", model="b")
    here.scheduler.apply([Submit(good.orders, 0.0), Submit(bad.orders, 0.0)])
    for _ in range(100):
        if isinstance(step := here.scheduler.next_step(), Load):
            break
        for sink, events in here.scheduler.settle(step, contained(here.runner.run, step)).events:
            sink(events)
    for sink, events in here.scheduler.settle(step, ModelFolderError("its weights are damaged")).events:
        sink(events)
    assert isinstance(good.heard[-1], Finished)
    (failed,) = bad.heard
    assert isinstance(failed, Failed)
    assert "b could not be loaded: its weights are damaged" in failed.message
    here.run_dry(Submit(orders("3", model="b").orders, 0.0))
    assert here.states()["b"] == "loaded"


def test_later_loads_are_told_and_those_of_the_start_are_not(turning, orders):
    told = []
    here = turning(loaded=told.append)
    here.run_dry()
    assert told == []
    here.run_dry(Submit(orders("1", model="b").orders, 0.0))
    assert told == ["b"]


def test_nobody_new_gets_a_row_while_an_operator_waits(turning, orders):
    here = turning(total=30_000)
    here.run_dry()
    running, late = orders("1", model="a", max_tokens=5), orders("2", model="a")
    heard = []
    here.turn(Submit(running.orders, 0.0))
    here.turn(Shelve(model="a", action="unload", reply=heard.append), Submit(late.orders, 0.0))
    while not heard:
        here.turn()
    assert isinstance(running.heard[-1], Finished)
    assert late.heard == []
    here.run_dry()
    assert isinstance(late.heard[-1], Finished)


@examples(max_examples=40, deadline=None)
@given(data=st.data())
def test_every_choice_ends_once_whatever_models_are_wanted_and_asked_for(paper, counting, orders, data):
    here = Turning(paper, counting, models="abc", total=25_000, unload_after_s=5)
    everybody, heard = [], []
    for number in range(data.draw(st.integers(1, 8))):
        messages = []
        if data.draw(st.booleans()):
            asked = orders(
                f"r{number}",
                model=data.draw(st.sampled_from("abc")),
                max_tokens=data.draw(st.integers(1, 40)),
            )
            everybody.append(asked)
            messages.append(Submit(asked.orders, 0.0))
        if data.draw(st.booleans()):
            action = data.draw(st.sampled_from(["load", "unload", "pin", "unpin"]))
            heard.append([])
            messages.append(
                Shelve(model=data.draw(st.sampled_from("abc")), action=action, reply=heard[-1].append)
            )
        if everybody and data.draw(st.integers(0, 4)) == 0:
            messages.append(Cancel(data.draw(st.sampled_from(everybody)).request.id))
        here.turn(*messages)
        here.now.s += data.draw(st.integers(0, 3))
    here.run_dry()
    assert [len(each) for each in heard] == [1] * len(heard)
    for asked in everybody:
        check_grammar(asked.heard)
    ends = Counter(type(event).__name__ for asked in everybody for event in asked.heard)
    assert ends["Finished"] + ends["Failed"] == len(everybody)
