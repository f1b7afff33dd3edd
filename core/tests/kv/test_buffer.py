import mlx.core as mx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlxp_core.kv import BatchPositions, FullCache
from mlxp_core.kv.buffer import STEP, Buffer, copied, grown, place_tokens
from mlxp_core.kv.store import PlainStore

MIB = 2**20


@given(needed=st.integers(1, 10**6), have=st.integers(0, 10**6))
def test_buffers_grow_enough_and_not_by_much(needed, have):
    size = grown(needed, have)
    assert size >= needed
    assert size == have or size < max(needed, have * 5 // 4) + STEP


def test_growing_token_by_token_copies_seldom():
    size, moves = 0, 0
    for needed in range(1, 100_001):
        size, before = grown(needed, size), size
        moves += size != before
    assert moves < 40


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
