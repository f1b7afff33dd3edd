import mlx.core as mx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlxp_core.kv import BatchPositions, FullCache
from mlxp_core.kv.buffer import Buffer, copied, place_tokens
from mlxp_core.kv.store import PlainStore
from mlxp_core.types import SLOT_STEP, slots_for

MIB = 2**20


@given(tokens=st.integers(1, 10**6), most=st.none() | st.integers(1, 10**5))
def test_slots_are_enough_and_not_by_much(tokens, most):
    size = slots_for(tokens, most)
    assert size >= min(tokens, most or tokens)
    assert size <= tokens + SLOT_STEP - 1
    assert most is None or size <= most


@given(st.lists(st.integers(1, 2000), min_size=1, max_size=6), st.none() | st.integers(300, 900))
@settings(deadline=None)
def test_a_buffer_has_the_slots_that_its_longest_row_asks_for(ends, most):
    buffer, token = Buffer(most), mx.ones((1, 1, 1, 2))
    for end in ends:  # rows that leave make it shorter again
        buffer.write(place_tokens(BatchPositions([end - 1], [1], 1), ring=most), (token, token))
        assert buffer.slots == slots_for(end, most)


def test_a_buffer_that_shrank_lets_go_of_its_memory():
    buffer, token = Buffer(), mx.ones((1, 2, 1, 64))
    buffer.write(place_tokens(BatchPositions([8191], [1], 1)), (token, token))
    mx.eval(buffer.planes)
    before = mx.get_active_memory()
    buffer.write(place_tokens(BatchPositions([100], [1], 1)), (token, token))
    mx.eval(buffer.planes)
    assert mx.get_active_memory() <= before - 7 * MIB


def test_attending_to_nothing_is_refused():
    with pytest.raises(ValueError, match="before any were stored"):
        FullCache(PlainStore(mx.float32)).attend(
            mx.zeros((1, 2, 1, 4)), None, None, BatchPositions([0], [1], 1), scale=1.0
        )


@pytest.mark.parametrize("starts", [[900] * 4, [900, 30, 411, 0]], ids=["level", "ragged"])
def test_writing_does_not_copy_the_buffer(starts):
    buffer = Buffer()
    buffer.rows = 4
    token = mx.ones((4, 2, 1, 64))
    buffer.write(place_tokens(BatchPositions([1023] * 4, [1] * 4, 1)), (token, token))
    mx.eval(buffer.planes, token)
    assert buffer.nbytes == 4 * MIB
    for step in range(3):
        at = BatchPositions([start + step for start in starts], [1] * 4, 1)
        mx.reset_peak_memory()
        before = mx.get_active_memory()
        buffer.write(place_tokens(at), (token, token))
        mx.eval(buffer.planes)
        assert mx.get_peak_memory() - before < MIB


def test_a_copy_frees_its_source():
    whole = mx.random.normal((1, 1, 1024, 1024))
    mx.eval(whole)
    before = mx.get_active_memory()
    part = copied(whole[:, :, :16])
    mx.eval(part)
    del whole
    assert mx.get_active_memory() <= before - 3 * MIB
