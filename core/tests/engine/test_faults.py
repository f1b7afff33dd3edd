import pytest

from mlxp_core.engine.faults import contained, described
from mlxp_core.errors import EngineFault, Unavailable


def ours():
    try:
        {}["weights"]
    except KeyError as error:
        raise Unavailable("come back later") from error


def theirs():
    raise ValueError("half a token")


def test_what_is_returned_comes_through():
    assert contained(divmod, 7, 2) == (3, 1)


def test_our_errors_come_back_bare():
    fault = contained(ours)
    assert isinstance(fault, Unavailable)
    assert (fault.__traceback__, fault.__cause__, fault.__context__) == (None, None, None)


def test_other_errors_become_a_fault_of_the_engine_that_says_what_happened():
    fault = contained(theirs)
    assert isinstance(fault, EngineFault)
    assert "ValueError: half a token" in fault.message
    assert (fault.__traceback__, fault.__cause__, fault.__context__) == (None, None, None)


def test_the_log_has_the_traceback_and_none_of_its_frames(caplog):
    contained(theirs)
    [record] = caplog.records
    assert "in theirs" in caplog.text
    assert record.exc_info is None


def test_what_ends_a_thread_is_not_contained():
    def leave():
        raise SystemExit

    with pytest.raises(SystemExit):
        contained(leave)


@pytest.mark.parametrize(
    ("error", "said"),
    [(KeyboardInterrupt(), "KeyboardInterrupt"), (ValueError("x"), "ValueError: x"), (EngineFault("y"), "y")],
)
def test_errors_are_described_in_a_line(error, said):
    assert described(error) == said
