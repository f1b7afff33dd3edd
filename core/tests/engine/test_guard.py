"""An error of the device shows once, and late: whose it may be fails, nobody else, and nothing of it is kept."""

import pytest

from mlxp_core.engine.faults import DeviceFault, contained
from mlxp_core.engine.guard import Guarded
from mlxp_core.engine.orders import Submit
from mlxp_core.engine.scheduler import Scheduler
from mlxp_core.engine.steps import Adapt, Decode, Load, Prefill, Rest, Unload
from mlxp_core.errors import BadAdapter, EngineFault
from mlxp_core.types import EngineSettings, Failed, Finished


class Device:
    """Holds errors that show one by one, whoever asks."""

    def __init__(self):
        self.errors = []

    def synchronize(self):
        if self.errors:
            raise self.errors.pop(0)


@pytest.fixture
def device():
    return Device()


@pytest.fixture
def guarded(paper, counting, device):
    """A guarded runner on paper."""

    def make():
        runner = paper(counting)
        carry_out = runner.carry_out

        def computing(step):
            device.synchronize()
            return carry_out(step)

        runner.carry_out = computing
        made = Guarded(runner, synchronize=device.synchronize, distrust=lambda: made.distrusted.append(1))
        made.paper, made.distrusted = runner, []
        return made

    return make


@pytest.mark.parametrize("step", [Load("m"), Unload("m"), Adapt(None)])
def test_what_shows_before_models_or_adapters_move_is_not_theirs(guarded, device, step):
    here = guarded()
    device.errors = [RuntimeError("late"), RuntimeError("later")]
    fault = contained(here.run, step)
    assert isinstance(fault, DeviceFault)
    assert "late" in fault.message
    assert here.paper.log == [], "the step has not begun"
    assert device.errors == []
    assert here.distrusted == [1]


def test_an_error_leaves_none_behind(guarded, device):
    here = guarded()
    device.errors = [RuntimeError("first"), RuntimeError("second"), RuntimeError("third")]
    assert isinstance(contained(here.run, Rest()), DeviceFault)
    assert device.errors == []
    assert not isinstance(contained(here.run, Rest()), EngineFault)


@pytest.mark.parametrize("error", [ValueError("shapes"), BadAdapter("not this one")])
def test_what_python_raises_is_the_steps_own(guarded, device, error):
    here = guarded()
    device.errors = [error]
    fault = contained(here.run, Rest())
    assert isinstance(fault, EngineFault | BadAdapter)
    assert not isinstance(fault, DeviceFault)
    assert here.distrusted == []


@pytest.mark.parametrize("kind", [Decode, Prefill])
def test_everybody_with_a_row_fails_and_who_waits_is_answered(guarded, device, orders, clocks, kind):
    here = guarded()
    scheduler = Scheduler(["m"], EngineSettings(batch=2, prompt_cache_bytes=0), clocks())
    asked = [orders(f"r{number}", max_tokens=6) for number in range(4)]
    scheduler.apply([Submit(one.orders, 0.0) for one in asked])
    while not scheduler.idle:
        step = scheduler.next_step()
        if isinstance(step, kind) and len(here.paper.log) > 4 and not here.distrusted:
            device.errors = [RuntimeError("late")]
            holders = scheduler.snapshot().running + scheduler.snapshot().prefilling
        deliveries = scheduler.settle(step, contained(here.run, step))
        for sink, events in deliveries.events:
            sink(events)
        scheduler.apply([])
    lasts = [one.heard[-1] for one in asked]
    failed = [last for last in lasts if isinstance(last, Failed)]
    assert 1 <= len(failed) == holders <= 2
    assert {last.status for last in failed} == {500}
    assert sum(isinstance(last, Finished) for last in lasts) == 4 - holders


def test_a_step_about_models_is_asked_for_again(guarded, device, orders, clocks):
    here, asked = guarded(), orders()
    scheduler = Scheduler(["m"], EngineSettings(prompt_cache_bytes=0), clocks())
    scheduler.apply([Submit(asked.orders, 0.0)])
    device.errors = [RuntimeError("of somebody who has left")]
    step = scheduler.next_step()
    scheduler.settle(step, contained(here.run, step))
    assert (step, scheduler.snapshot().state) == (Load("m"), "loading")
    assert scheduler.next_step() == step
    scheduler.settle(step, contained(here.run, step))
    assert scheduler.snapshot().state == "ready"
