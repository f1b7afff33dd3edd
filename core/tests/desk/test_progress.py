"""How far a request is follows from what was said of it."""

from mlxp_core.desk.progress import progress
from mlxp_core.types import ChoiceProgress, Failed, Finished, Prefilled, Started, TextDelta, Timing, Usage

END = Finished("stop", Usage(), Timing())


def test_before_anything_is_said_all_wait():
    assert progress((), 2) == (ChoiceProgress(choice=0), ChoiceProgress(choice=1))


def test_each_event_moves_its_own_choice_alone():
    events = [Started("r", "m"), Prefilled(3, 9, 1), TextDelta("x"), END]
    states = [progress(events[:count], 2)[0] for count in range(5)]
    assert [state.state for state in states] == [
        "waiting",
        "prefilling",
        "prefilling",
        "generating",
        "ended",
    ]
    assert (states[2].read, states[2].prompt) == (3, 9)
    assert (states[4].read, states[4].prompt) == (3, 9), "what was known stays known"
    assert progress(events, 2)[1] == ChoiceProgress(choice=1)


def test_a_failure_ends_a_choice_that_never_began():
    assert progress([Failed("engine_fault", "no", 500, choice=1)], 2)[1].state == "ended"
