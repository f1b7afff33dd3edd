import pytest

from mlxp_core.engine.fate import CALLS, MOST_RESTARTS, WITHIN_S, Fate


@pytest.mark.parametrize("policy", ["stay", "exit"])
@pytest.mark.parametrize("served", [False, True])
def test_without_restarts_it_is_as_the_setting_says(policy, served):
    fate = Fate(policy, lambda: 0.0)
    assert [fate.decide(served=served) for _ in range(2 * MOST_RESTARTS)] == [policy] * 2 * MOST_RESTARTS


def test_what_never_was_ready_does_not_begin_again():
    assert Fate("restart", lambda: 0.0).decide(served=False) == "exit"


def test_it_begins_again_until_that_has_been_too_often():
    now_s = 0.0
    fate = Fate("restart", lambda: now_s)
    decided = []
    for _ in range(MOST_RESTARTS + 2):
        decided.append(fate.decide(served=True))
        now_s += 1.0
    assert decided == ["restart"] * MOST_RESTARTS + ["exit"] * 2


def test_what_dies_seldom_always_begins_again():
    now_s = 0.0
    fate = Fate("restart", lambda: now_s)
    for _ in range(4 * MOST_RESTARTS):
        assert fate.decide(served=True) == "restart"
        now_s += WITHIN_S / MOST_RESTARTS


def test_everybody_is_told_what_to_do():
    assert set(CALLS) == {"stay", "restart", "exit"}
