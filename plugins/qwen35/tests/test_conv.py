"""The convolution: its formula, and that it goes on where each row stands."""

import mlx.core as mx
from hypothesis import given, settings
from hypothesis import strategies as st

from mlxp_core.kv import BatchPositions
from mlxp_qwen35.conv import CausalConv, latest, latest_of

CHANNELS, KERNEL = 5, 4


def made():
    layer = CausalConv(CHANNELS, KERNEL)
    layer.weight = mx.random.normal((CHANNELS, KERNEL, 1), key=mx.random.key(0))
    return layer


def noise(rows, width, seed=1):
    return mx.random.normal((rows, width, CHANNELS), key=mx.random.key(seed))


def test_it_is_mlx_own_convolution_over_what_came_before():
    layer, x, before = made(), noise(2, 9), noise(2, KERNEL - 1, seed=2)
    out, seen = layer(x, before)
    total = mx.conv1d(mx.concatenate([before, x], axis=1), layer.weight, groups=CHANNELS)
    assert mx.allclose(out, total * mx.sigmoid(total), atol=1e-5)
    assert mx.array_equal(latest(seen, BatchPositions([3, 3], [9, 9], 9)), x[:, -3:])


@given(st.lists(st.lists(st.integers(0, 6), min_size=1, max_size=3), min_size=2, max_size=2))
@settings(max_examples=25, deadline=None)
def test_ragged_passes_go_on_where_each_row_stands(passes):
    layer, rows = made(), 2
    passes = list(zip(*(([*row, 0, 0, 0])[:3] for row in passes), strict=True))
    x = noise(rows, 18)
    whole, _ = layer(x, mx.zeros((rows, KERNEL - 1, CHANNELS)))
    before, starts = mx.zeros((rows, KERNEL - 1, CHANNELS)), [0, 0]
    for counts in passes:
        width = max(1, *counts)
        given_now = [
            mx.pad(x[row, start : start + count], [(0, width - count), (0, 0)], constant_values=9)
            for row, (start, count) in enumerate(zip(starts, counts, strict=True))
        ]
        kept = before
        out, seen = layer(mx.stack(given_now), before)
        before = latest(seen, BatchPositions(starts, counts, width))
        assert mx.array_equal(before, latest_of(seen, mx.array(counts), width))
        for row, (start, count) in enumerate(zip(starts, counts, strict=True)):
            assert mx.allclose(out[row, :count], whole[row, start : start + count], atol=1e-5)
            assert count or mx.array_equal(before[row], kept[row])
        starts = [start + count for start, count in zip(starts, counts, strict=True)]


def test_sixteen_bits_stay_sixteen_bits():
    layer, x = made(), noise(1, 6).astype(mx.bfloat16)
    layer.weight = layer.weight.astype(mx.bfloat16)
    out, seen = layer(x, mx.zeros((1, KERNEL - 1, CHANNELS), dtype=mx.bfloat16))
    assert out.dtype == seen.dtype == mx.bfloat16
