import mlx.core as mx
from hypothesis import given
from hypothesis import strategies as st

from mlxp_core.kv import BatchPositions
from mlxp_core.kv.masks import pair_mask, slot_positions


@given(end=st.integers(0, 60), capacity=st.integers(1, 20))
def test_a_slot_holds_the_last_position_that_was_written_to_it(end, capacity):
    ring = [None] * capacity
    for position in range(end):
        ring[position % capacity] = position
    found = slot_positions(mx.array([[end]]), capacity, capacity)[0].tolist()
    assert [position if position >= 0 else None for position in found] == ring


@given(starts=st.lists(st.integers(0, 20), min_size=1, max_size=4), width=st.integers(1, 6))
def test_every_query_sees_some_key(starts, width):
    at = BatchPositions(starts, [0] * len(starts), width)
    mask = pair_mask(mx.arange(max(1, *starts, 1))[None], at)
    assert mask.any(axis=-1).all()


@given(start=st.integers(0, 12), width=st.integers(1, 5), window=st.integers(1, 8))
def test_a_window_is_exact(start, width, window):
    keys = range(start + width)
    mask = pair_mask(mx.array([list(keys)]), BatchPositions([start], [width], width), window=window)
    assert mask[0, 0].tolist() == [[j <= i and i - j < window for j in keys] for i in keys[start:]]


def test_an_overlay_reaches_beyond_the_window():
    at, block = BatchPositions([2], [4], 4), mx.arange(4) >= 1
    overlay = (block[:, None] & block)[None]
    mask = pair_mask(mx.arange(6)[None], at, window=2, overlay=overlay)
    assert mask[0, 0].tolist() == [
        [(j <= i and i - j < 2) or min(i, j) >= 3 for j in range(6)] for i in range(2, 6)
    ]
