"""Times add up to what has passed."""

from mlxp_core.engine.pulse import Pulse, Times


def test_what_the_host_does_and_what_it_waits_for_are_told_apart():
    times = iter([0.0, 1.0, 1.0, 5.0, 7.0, 10.0, 10.0, 16.0])
    pulse = Pulse(times.__next__)
    pulse.begin()
    pulse.dispatched()
    pulse.reading()
    pulse.read(going_on=True)
    assert pulse.take() == Times(0.0, 1.0, 4.0)  # nothing was read before
    pulse.begin()
    pulse.dispatched()
    pulse.reading()
    pulse.read(going_on=False)
    assert pulse.take() == Times(5.0, 3.0, 6.0)
    assert pulse.take() == Times()


def test_a_pause_is_not_the_hosts_work():
    times = iter([0.0, 2.0, 9.0, 10.0])
    pulse = Pulse(times.__next__)
    pulse.reading()
    pulse.read(going_on=True)
    pulse.pause()
    pulse.begin()
    pulse.dispatched()
    assert pulse.take() == Times(0.0, 1.0, 2.0)
