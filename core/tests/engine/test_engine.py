"""The engine's thread: it starts, serves, stops, and when it dies everybody gets an answer."""

import asyncio
import threading
from queue import SimpleQueue

import pytest

from mlxp_core.engine import Engine
from mlxp_core.engine.steps import Decode, Load
from mlxp_core.errors import Busy, ModelFolderError, SetupError, Unavailable, UnknownModel
from mlxp_core.testing.grammar import check_grammar
from mlxp_core.types import EngineSettings, Failed, Finished, Started, TextDelta

PATIENCE_S = 20  # only how long a broken test takes to fail


class EventLoop:
    """The event-loop side: a queue of calls, and a way to run them until something is the case."""

    def __init__(self):
        self.calls = SimpleQueue()

    def post(self, call):
        self.calls.put(call)

    def until(self, reached):
        while not reached():
            self.calls.get(timeout=PATIENCE_S)()

    def ended(self, *asked):
        for one in asked:
            self.until(lambda one=one: len(lasts(one)) == one.request.choices)


def lasts(asked):
    return [event for event in asked.heard if isinstance(event, Finished | Failed)]


class Gate:
    """A place where the engine thread waits until the test lets it pass."""

    def __init__(self):
        self.reached, self.open = threading.Event(), threading.Event()

    def __call__(self):
        self.reached.set()
        assert self.open.wait(PATIENCE_S)


@pytest.fixture
def engines(paper, counting, no_thread_left):
    made = []

    def make(*, runner=None, models=("m",), on_record=lambda _: None, **settings):
        runner = runner or paper(counting)
        engine = Engine(
            dict.fromkeys(models),
            EngineSettings(**{"prompt_cache_bytes": 0, **settings}),
            {},
            on_record=on_record,
            make_runner=lambda halted: setattr(runner, "halted", halted) or runner,
        )
        made.append(engine)
        engine.loop = EventLoop()
        return engine

    yield make
    for engine in made:
        engine.stop(0)


def told_when_closed(engine):
    """Return an event that is set as soon as ``stop`` has closed the mailbox."""
    closed, close = threading.Event(), engine._mail.close

    def watched(message):
        close(message)
        closed.set()

    engine._mail.close = watched
    return closed


def before(runner, kind, act):
    """Make ``runner`` call ``act`` before each step of a kind."""
    carry_out = runner.carry_out

    def watched(step):
        if isinstance(step, kind):
            act()
        return carry_out(step)

    runner.carry_out = watched
    return runner


def test_it_serves_on_a_thread_of_its_own(engines, orders, paper, counting):
    threads = set()
    runner = before(paper(counting), Decode, lambda: threads.add(threading.current_thread().name))
    records = []
    engine = engines(runner=runner, on_record=records.append)
    engine.start(engine.loop.post)
    assert engine.wait_ready(PATIENCE_S)
    asked = [orders(f"r{n}", choices=1 + n % 2) for n in range(5)]
    for one in asked:
        engine.submit(one.orders)
    engine.loop.ended(*asked)
    for one in asked:
        check_grammar(one.heard, choices=one.request.choices)
    engine.loop.until(lambda: len(records) == 7)
    assert threads == {"mlxp-engine"}
    engine.stop(1)
    assert runner.closed
    assert (engine.stats().finished, engine.stats().state) == (7, "stopping")


def test_whoever_has_an_answer_finds_it_counted(engines, orders):
    engine, counted = engines(), SimpleQueue()

    def sink(events):
        if isinstance(events[-1], Finished):
            counted.put(engine.stats().finished)

    engine.start(lambda call: call())  # on the engine's own thread, at the earliest moment there is
    engine.submit(orders("r", sink=sink).orders)
    assert counted.get(timeout=PATIENCE_S) == 1


def test_it_serves_an_asyncio_loop(engines, orders):
    async def main():
        loop, done = asyncio.get_running_loop(), asyncio.Event()
        engine = engines()
        engine.start(loop.call_soon_threadsafe)
        heard = []

        def sink(events):
            assert asyncio.get_running_loop() is loop
            heard.extend(events)
            if isinstance(heard[-1], Finished):
                done.set()

        engine.submit(orders(sink=sink).orders)
        await asyncio.wait_for(done.wait(), PATIENCE_S)
        check_grammar(heard)
        await asyncio.to_thread(engine.stop, 1)

    asyncio.run(main())


def test_orders_may_come_while_models_load(engines, orders, paper, counting):
    gate, asked = Gate(), orders()
    engine = engines(runner=before(paper(counting), Load, gate))
    engine.start(engine.loop.post)
    assert gate.reached.wait(PATIENCE_S)
    engine.submit(asked.orders)
    assert not engine.wait_ready(0)
    assert engine.stats().state == "loading"
    gate.open.set()
    engine.loop.ended(asked)
    assert lasts(asked)[0].reason == "length"
    assert engine.stats().state == "ready"


def test_a_model_that_cannot_be_loaded_is_told_to_all_who_wait(engines, orders, paper, counting):
    gate, asked = Gate(), orders(choices=2)

    def fail():
        gate()
        raise ModelFolderError("model-00002-of-00004.safetensors is cut short; download it again")

    engine = engines(runner=before(paper(counting), Load, fail))
    engine.start(engine.loop.post)
    engine.submit(asked.orders)
    gate.open.set()
    with pytest.raises(ModelFolderError, match="cut short") as caught:
        engine.wait_ready(PATIENCE_S)
    assert caught.value.__cause__ is None
    engine.loop.ended(asked)
    assert {event.status for event in lasts(asked)} == {503}
    assert "cut short" in lasts(asked)[0].message
    assert engine.stats().state == "lost"
    assert "cut short" in engine.stats().fault
    with pytest.raises(Unavailable):
        engine.submit(orders().orders)


@pytest.mark.parametrize("error", [SystemExit("gone"), KeyboardInterrupt()])
def test_when_the_thread_dies_everybody_gets_an_answer(engines, orders, paper, counting, error):
    gate = Gate()

    def die():
        gate()
        raise error

    runner = before(paper(counting), Decode, die)
    engine = engines(runner=runner, batch=1)
    engine.start(engine.loop.post)
    running, waiting, unread = orders("running"), orders("waiting"), orders("unread")
    engine.submit(running.orders)
    engine.submit(waiting.orders)
    assert gate.reached.wait(PATIENCE_S)
    engine.submit(unread.orders)
    gate.open.set()
    engine.loop.ended(running, waiting, unread)
    for one in (running, waiting, unread):
        check_grammar(one.heard)
        assert lasts(one)[0].status == 503
    assert engine.stats().state == "lost"
    assert runner.closed
    with pytest.raises(Unavailable):
        engine.submit(orders().orders)
    with pytest.raises(Unavailable):
        engine.wait_ready(PATIENCE_S)
    assert not engine.cancel("running")


def test_a_failed_step_does_not_end_the_thread(engines, orders, paper, counting):
    runner = paper(counting)
    runner.faults = [None, MemoryError("no more")]
    engine, first, second = engines(runner=runner), orders("first"), orders("second")
    engine.start(engine.loop.post)
    engine.submit(first.orders)
    engine.loop.ended(first)
    engine.submit(second.orders)
    engine.loop.ended(second)
    assert lasts(first)[0].status == 500
    assert lasts(second)[0].reason == "length"
    assert engine.stats().state == "ready"


def test_a_fault_of_the_schedulers_own_loses_the_engine(engines, monkeypatch):
    def broken(_):
        raise IndexError("scheduler")

    monkeypatch.setattr("mlxp_core.engine.scheduler.Scheduler.next_step", broken)
    engine = engines()
    engine.start(engine.loop.post)
    with pytest.raises(Unavailable, match="IndexError: scheduler"):
        engine.wait_ready(PATIENCE_S)
    assert (engine.stats().state, engine.stats().fault) == ("lost", "IndexError: scheduler")


def test_cancel(engines, orders, paper, counting):
    gate = Gate()
    engine = engines(runner=before(paper(counting), Decode, gate), batch=1)
    engine.start(engine.loop.post)
    running, waiting = orders("running", max_tokens=1000), orders("waiting")
    engine.submit(running.orders)
    engine.submit(waiting.orders)
    assert gate.reached.wait(PATIENCE_S)
    assert engine.cancel("waiting")
    assert engine.cancel("running")
    assert not engine.cancel("nobody")
    gate.open.set()
    engine.loop.ended(running, waiting)
    assert [lasts(one)[0].reason for one in (running, waiting)] == ["cancelled", "cancelled"]
    assert not engine.cancel("running")
    engine.stop(0)
    assert (engine.stats().cancelled, engine.stats().cache_bytes) == (2, 0)


def test_beyond_the_queue_it_is_busy(engines, orders, paper, counting):
    gate = Gate()
    engine = engines(runner=before(paper(counting), Decode, gate), batch=1, queue=1)
    engine.start(engine.loop.post)
    first, second, third = (orders(f"r{n}") for n in range(3))
    engine.submit(first.orders)
    engine.submit(second.orders)
    with pytest.raises(Busy) as busy:
        engine.submit(third.orders)
    [(name, seconds)] = busy.value.headers
    assert name == "Retry-After"
    assert int(seconds) >= 1
    gate.open.set()
    engine.loop.ended(first, second)
    engine.submit(third.orders)
    engine.loop.ended(third)


def test_stopping_lets_rows_end_and_sends_the_queue_away(engines, orders, paper, counting):
    gate = Gate()
    engine = engines(runner=before(paper(counting), Decode, gate), batch=1)
    engine.start(engine.loop.post)
    running, waiting = orders("running", max_tokens=30), orders("waiting")
    engine.submit(running.orders)
    engine.submit(waiting.orders)
    assert gate.reached.wait(PATIENCE_S)
    closed = told_when_closed(engine)
    stopper = threading.Thread(target=engine.stop, args=(PATIENCE_S,))
    stopper.start()
    assert closed.wait(PATIENCE_S)
    gate.open.set()
    engine.loop.ended(running, waiting)
    stopper.join(PATIENCE_S)
    assert lasts(running)[0].reason == "length"
    assert lasts(waiting)[0].status == 503
    with pytest.raises(Unavailable):
        engine.submit(orders().orders)


def test_stopping_without_grace_cancels(engines, orders, paper, counting):
    gate = Gate()
    engine = engines(runner=before(paper(counting), Decode, gate))
    engine.start(engine.loop.post)
    asked = orders(max_tokens=100_000)
    engine.submit(asked.orders)
    assert gate.reached.wait(PATIENCE_S)
    gate.open.set()
    engine.stop(0)
    engine.loop.ended(asked)
    assert lasts(asked)[0].reason == "cancelled"
    engine.stop(0)


def test_stopping_while_loading(engines, orders, paper, counting):
    runner, asked, gate = paper(counting), orders(), Gate()

    def long_load():
        gate()
        if runner.halted():
            raise Unavailable("loading was stopped")

    engine = engines(runner=before(runner, Load, long_load))
    engine.start(engine.loop.post)
    engine.submit(asked.orders)
    assert gate.reached.wait(PATIENCE_S)
    engine._mail.close = lambda message, close=engine._mail.close: (close(message), gate.open.set())
    engine.stop(0)
    engine.loop.ended(asked)
    assert lasts(asked)[0].status == 503
    assert engine.stats().state == "stopping"
    assert runner.loaded == []
    with pytest.raises(Unavailable):
        engine.wait_ready(0)


def test_when_the_event_loop_is_gone_rows_do_not_run_for_nobody(engines, orders):
    engine, posts, twice = engines(), [], threading.Event()

    def closed(call):
        posts.append(call)
        if len(posts) == 2:
            twice.set()
        raise RuntimeError("Event loop is closed")

    engine.start(closed)
    engine.submit(orders(max_tokens=10_000).orders)
    assert twice.wait(PATIENCE_S)
    engine.stop(PATIENCE_S)
    assert (engine.stats().cancelled, engine.stats().running) == (1, 0)
    assert engine.stats().completion_tokens < 10


def test_it_refuses_what_it_cannot_do(engines, orders):
    engine = engines()
    with pytest.raises(Unavailable):
        engine.submit(orders().orders)
    assert not engine.cancel("r")
    engine.stop(0)
    engine.start(engine.loop.post)
    with pytest.raises(SetupError):
        engine.start(engine.loop.post)
    with pytest.raises(UnknownModel, match="on offer: m"):
        engine.submit(orders(model="other").orders)


def test_events_are_said_in_order_across_the_threads(engines, orders):
    engine = engines(prefill_chunk=1)
    engine.start(engine.loop.post)
    asked = orders(prompt=range(1, 9), max_tokens=20)
    engine.submit(asked.orders)
    engine.loop.ended(asked)
    assert isinstance(asked.heard[0], Started)
    said = [int(word) for event in asked.heard if isinstance(event, TextDelta) for word in event.text.split()]
    assert said == list(range(1000, 1020))
