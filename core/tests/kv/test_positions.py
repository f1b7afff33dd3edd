import mlx.core as mx
import pytest

from mlxp_core.kv import BatchPositions


def test_the_device_sees_what_the_host_knows():
    at = BatchPositions([4, 0, 9], [2, 3, 0], 3)
    assert (at.starts, at.counts, at.width, len(at)) == ((4, 0, 9), (2, 3, 0), 3, 3)
    assert at.offset.tolist() == [4, 0, 9]
    assert at.valid.tolist() == [[True, True, False], [True, True, True], [False, False, False]]


def test_nothing_is_masked_when_all_is_real():
    assert BatchPositions([4, 0], [3, 3], 3).valid is None


def test_what_layers_share_is_made_once():
    made = []
    at = BatchPositions([0], [1], 1)
    assert [at.once("mask", lambda: made.append(1) or "made") for _ in range(3)] == ["made"] * 3
    assert at.once("other", lambda: None) is None
    assert len(made) == 1


@pytest.mark.parametrize(
    ("counts", "width"), [([1], 1), ([1, 2], 1), ([1, -1], 1), ([0, 0], 0), ([1, 1, 1], 1)]
)
def test_counts_that_do_not_fit_are_refused(counts, width):
    with pytest.raises(ValueError, match="counts"):
        BatchPositions([0, 5], counts, width)


def test_lengths_stay_on_the_host():
    at = BatchPositions([7], [1], 1)
    assert isinstance(at.offset, mx.array)
    assert all(isinstance(start, int) for start in at.starts)
