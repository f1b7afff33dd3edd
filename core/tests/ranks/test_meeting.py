"""What ranks make of what they hear of each other, before any of them computes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from mlxp_core.errors import SetupError
from mlxp_core.ranks.meeting import Hello, check_alike, fair_share

ME = Hello(mlx="0.32.4", backend="metal", host="one", usable_bytes=64)


def test_ranks_of_one_computer_share_its_memory_and_the_poorest_counts():
    assert fair_share([ME, ME]) == 32
    assert fair_share([ME, replace(ME, host="two", usable_bytes=40)]) == 40
    assert fair_share([ME, ME, replace(ME, host="two", usable_bytes=20)]) == 20
    gpu = replace(ME, backend="cuda")
    assert fair_share([gpu, replace(gpu, usable_bytes=48)]) == 48


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 2**40)), min_size=1, max_size=8))
def test_no_computer_is_asked_for_more_than_it_has(ranks):
    hellos = [replace(ME, host=host, usable_bytes=usable) for host, usable in ranks]
    share = fair_share(hellos)
    for host in {host for host, _ in ranks}:
        own = [usable for other, usable in ranks if other == host]
        assert share * len(own) <= min(own)


@pytest.mark.parametrize(("what", "other"), [("mlxp", "9.9"), ("mlx", "0.30"), ("backend", "cpu")])
def test_ranks_that_do_not_go_together_are_told_what_differs(what, other):
    check_alike([ME, ME])
    with pytest.raises(SetupError, match=f"rank 1 has {what} {other}"):
        check_alike([ME, replace(ME, **{what: other})])
