"""An engine that loses what it computes with: everybody is told, whether its thread still moves or not."""

import threading
from queue import SimpleQueue

import pytest

from mlxp_core.engine import Engine
from mlxp_core.engine.steps import Decode
from mlxp_core.errors import Unavailable
from mlxp_core.testing.grammar import check_grammar
from mlxp_core.types import EngineSettings, Failed

PATIENCE_S = 20
WHY = Unavailable("rank 1 has gone")


@pytest.fixture
def calls():
    return SimpleQueue()


@pytest.fixture
def runner(paper, counting):
    """A runner that does not return from drawing until it is let go."""
    made = paper(counting)
    made.reached, made.let_go = threading.Event(), threading.Event()
    carry_out = made.carry_out

    def stuck(step):
        if isinstance(step, Decode):
            made.reached.set()
            assert made.let_go.wait(PATIENCE_S)
        return carry_out(step)

    made.carry_out = stuck
    yield made
    made.let_go.set()


@pytest.fixture
def engine(calls, runner, no_thread_left):
    """An engine around that runner, which has its model."""
    settings = EngineSettings(prompt_cache_bytes=0, batch=2, on_death="exit")
    made = Engine({"m": None}, settings, {}, make_runner=lambda _: runner)
    made.start(calls.put)
    assert made.wait_ready(PATIENCE_S)
    yield made
    runner.let_go.set()
    made._life._thread.join(PATIENCE_S)
    made.stop(0)


def told(asked, calls):
    """Wait for the last event of each choice, and return them."""

    def lasts():
        return [event for event in asked.heard if isinstance(event, Failed)]

    while len(lasts()) < len(asked.orders):
        calls.get(timeout=PATIENCE_S)()
    check_grammar(asked.heard, choices=asked.request.choices)
    return lasts()


def test_an_idle_engine_ends_at_once(engine):
    engine.lose(WHY)
    assert engine._life.join(PATIENCE_S)
    assert (engine.stats().state, engine.stats().fault) == ("lost", "rank 1 has gone")


def test_whoever_came_by_the_same_mail_is_told_too(engine, runner, calls, orders):
    running, late = orders("running"), orders("late", choices=3)
    engine.submit(running.orders)
    assert runner.reached.wait(PATIENCE_S)
    engine.submit(late.orders)
    engine.lose(WHY)
    runner.let_go.set()
    for asked in (running, late):
        assert {(event.status, event.code) for event in told(asked, calls)} == {(503, "unavailable")}
    assert "rank 1 has gone" in late.heard[-1].message


def test_a_thread_that_is_stuck_is_left_behind_and_finds_nobody(engine, runner, calls, orders):
    running, waiting = orders("running", choices=2), orders("waiting")
    engine.submit(running.orders)
    engine.submit(waiting.orders)
    assert runner.reached.wait(PATIENCE_S)
    engine._life.forsake(WHY)
    for asked in (running, waiting):
        assert {event.status for event in told(asked, calls)} == {503}
    assert engine.stats().state == "lost"
    with pytest.raises(Unavailable):
        engine.submit(orders("after").orders)
    assert engine._life.join(PATIENCE_S), "it is not waited for"
    heard = [list(asked.heard) for asked in (running, waiting)]
    runner.let_go.set()
    engine._life._thread.join(PATIENCE_S)
    while not calls.empty():
        calls.get()()
    assert [asked.heard for asked in (running, waiting)] == heard
    assert engine.stats().state == "lost"
