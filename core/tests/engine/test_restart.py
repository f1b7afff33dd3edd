"""An engine that begins again after its thread has died."""

from pathlib import Path
from queue import SimpleQueue

import pytest

from mlxp_core.adapters import AdapterFolder, Fitted
from mlxp_core.engine import Engine, Mount, ShelfRules, Shelve, Unmount
from mlxp_core.engine.fate import MOST_RESTARTS
from mlxp_core.engine.steps import Adapt, Decode, Load, Outcome
from mlxp_core.errors import ModelFolderError, Unavailable
from mlxp_core.testing.grammar import check_grammar
from mlxp_core.types import EngineSettings, Failed, Finished

PATIENCE_S = 20


class Loop:
    """The event loop's side: calls that wait to be run."""

    def __init__(self):
        self.calls = SimpleQueue()

    def until(self, reached):
        while not reached():
            self.calls.get(timeout=PATIENCE_S)()


class Doom(BaseException):
    pass


class Runners:
    """Makes a runner on paper for each life; the ``faults`` of step kinds are raised once each."""

    def __init__(self, make):
        self._make = make
        self.made = []
        self.faults = []
        self.mounted = []

    def __call__(self, halted):
        runner = self._make()
        carry_out, run = runner.carry_out, runner.run
        mounted = []

        def watched(step):
            if self.faults and isinstance(step, self.faults[0][0]):
                raise self.faults.pop(0)[1]
            return carry_out(step)

        def adapting(step):
            match step:
                case Adapt(Mount(key=key)):
                    mounted.append(key)
                    return Outcome(fitted=Fitted(1, (), 1))
                case Adapt(Unmount(key=key)):
                    mounted.remove(key)
                    return Outcome()
                case _:
                    return run(step)

        runner.carry_out, runner.run = watched, adapting
        self.made.append(runner)
        self.mounted.append(mounted)
        return runner


@pytest.fixture
def runners(paper, counting):
    return Runners(lambda: paper(counting))


@pytest.fixture
def engines(runners, no_thread_left):
    made = []

    def make(policy="restart", *, models=("m",), clock=None, shelf=None, **settings):
        engine = Engine(
            dict.fromkeys(models),
            EngineSettings(**{"prompt_cache_bytes": 0, "on_death": policy, **settings}),
            {},
            make_runner=runners,
            **({} if clock is None else {"clock": clock}),
            **({} if shelf is None else {"shelf": shelf}),
        )
        engine.loop = Loop()
        made.append(engine)
        return engine

    yield make
    for engine in made:
        engine.stop(0)


def begun(engine):
    engine.start(engine.loop.calls.put)
    assert engine.wait_ready(PATIENCE_S)
    return engine


def answered(engine, asked):
    engine.submit(asked.orders)
    ended(engine, asked)
    return [event for event in asked.heard if isinstance(event, Finished | Failed)]


def ended(engine, asked):
    def all_have():
        lasts = [event for event in asked.heard if isinstance(event, Finished | Failed)]
        return len(lasts) == len(asked.orders)

    engine.loop.until(all_have)


def again(engine, restarts=1):
    engine.loop.until(lambda: engine.stats().restarts == restarts)
    assert engine.wait_ready(PATIENCE_S)


def test_it_answers_everybody_and_begins_again(engines, runners, orders):
    engine = begun(engines(batch=1))
    runners.faults.append((Decode, Doom("once")))
    asked = [orders(f"r{n}", choices=1 + n % 2) for n in range(4)]
    for one in asked:
        engine.submit(one.orders)
    for one in asked:
        ended(engine, one)
        check_grammar(one.heard, choices=one.request.choices)
        assert {event.status for event in one.heard if isinstance(event, Failed)} == {503}
    assert "begins again" in asked[0].heard[-1].message
    again(engine)
    assert engine.stats().state == "ready"
    assert [event.reason for event in answered(engine, orders("late", choices=2))] == ["length"] * 2
    first, second = runners.made
    assert first.closed
    assert (first.loaded, second.loaded) == (["m"], ["m"])
    assert (engine.stats().failed, engine.stats().finished) == (6, 2)


def test_between_two_lives_it_says_so(engines, runners, orders):
    engine = begun(engines())
    runners.faults.append((Decode, Doom("once")))
    asked = orders()
    engine.submit(asked.orders)
    ended(engine, asked)  # and the call that begins the next life is still to be run
    assert (engine.stats().state, engine.stats().fault) == ("loading", "Doom: once")
    with pytest.raises(Unavailable):
        engine.submit(orders("early").orders)
    again(engine)
    assert engine.stats().fault is None


def test_one_life_begins_when_the_other_has_let_go(engines, runners, orders):
    engine, seen = begun(engines()), []
    close = runners.made[0].close
    runners.made[0].close = lambda: (seen.append(len(runners.made)), close())
    runners.faults.append((Decode, Doom()))
    answered(engine, orders())
    again(engine)
    assert seen == [1]
    assert len(runners.made) == 2


def test_it_has_the_adapters_and_pins_of_the_last_moment(engines, runners, orders):
    engine = engines(models=("m", "n"), shelf=ShelfRules(pinned=frozenset({"m"})))
    done = []

    def mount(key, **more):
        nowhere = Path("nowhere")
        folder = AdapterFolder(
            path=nowhere, file=nowhere, terms=(), rank=1, scale=1.0, base_model=None, identity=key
        )
        return Mount(model="m", key=key, folder=folder, reply=lambda told: done.append((key, told)), **more)

    engine.start(engine.loop.calls.put, [mount("first", vital=True)])
    assert engine.wait_ready(PATIENCE_S)
    engine.mount(mount("second"))
    engine.mount(mount("third"))
    engine.loop.until(lambda: len(done) == 3)
    engine.unmount(Unmount("m", "second"))
    for model, action in (("m", "unpin"), ("n", "pin")):
        engine.shelve(Shelve(model=model, action=action, reply=done.append))
    engine.loop.until(lambda: len(done) == 5)
    runners.faults.append((Decode, Doom()))
    answered(engine, orders())
    again(engine)
    assert runners.mounted == [["first", "third"], ["first", "third"]]
    assert {model: state.pinned for model, state in engine.stats().models.items()} == {"m": False, "n": True}
    assert len(done) == 5, "who mounted it is told once"


def test_what_cannot_be_loaded_again_is_the_end(engines, runners, orders):
    engine = begun(engines())
    runners.faults += [(Decode, Doom()), (Load, ModelFolderError("the folder is gone"))]
    answered(engine, orders())
    engine.loop.until(lambda: engine.stats().restarts == 1)
    with pytest.raises(ModelFolderError, match="the folder is gone"):
        engine.wait_ready(PATIENCE_S)
    assert (engine.stats().state, engine.stats().fault) == ("lost", "the folder is gone")


def test_what_dies_at_every_request_is_given_up(engines, runners, orders):
    engine = begun(engines(clock=lambda: 0.0))
    for restarts in range(1, MOST_RESTARTS + 1):
        runners.faults.append((Decode, Doom(str(restarts))))
        answered(engine, orders(f"r{restarts}"))
        again(engine, restarts)
    runners.faults.append((Decode, Doom("last")))
    [failed] = answered(engine, orders("last"))
    assert "the server ends" in failed.message
    assert (engine.stats().state, engine.stats().restarts) == ("lost", MOST_RESTARTS)


@pytest.mark.parametrize("policy", ["stay", "exit"])
def test_otherwise_it_stays_dead(engines, runners, orders, policy):
    engine = begun(engines(policy))
    runners.faults.append((Decode, Doom("for good")))
    answered(engine, orders())
    assert (engine.stats().state, engine.stats().fault, engine.stats().restarts) == (
        "lost",
        "Doom: for good",
        0,
    )
    assert len(runners.made) == 1


def test_who_stops_meanwhile_stops(engines, runners, orders):
    engine = begun(engines())
    runners.faults.append((Decode, Doom()))
    answered(engine, orders())
    engine.stop(0)
    engine.loop.calls.get(timeout=PATIENCE_S)()  # would begin the next life
    assert len(runners.made) == 1
    with pytest.raises(Unavailable):
        engine.submit(orders("late").orders)


def test_requests_may_wait_for_the_next_life_to_load(engines, runners, orders):
    engine = begun(engines())
    runners.faults.append((Decode, Doom()))
    answered(engine, orders())
    engine.loop.until(lambda: engine.stats().restarts == 1)
    [last] = answered(engine, orders("early"))
    assert last.reason == "length"
