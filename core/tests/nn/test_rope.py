import math

import mlx.core as mx
from hypothesis import given
from hypothesis import strategies as st

from mlxp_core.kv import BatchPositions
from mlxp_core.nn import Rope

DIM, BASE = 16, 1e4


def turned(x, periods, position):
    """Turn one head of one token by the formula, in plain Python."""
    out, half = list(x), len(periods)
    for j, period in enumerate(periods):
        angle = position / period
        a, b = x[j], x[j + half]
        out[j] = a * math.cos(angle) - b * math.sin(angle)
        out[j + half] = b * math.cos(angle) + a * math.sin(angle)
    return out


def close(got, expected):
    return mx.allclose(got, mx.array(expected), atol=1e-4)


def head(dim=DIM):
    return mx.random.normal((1, 1, 1, dim), key=mx.random.key(0))


@given(position=st.integers(0, 500))
def test_plain_turns_every_pair(position):
    x = head()
    periods = [BASE ** (2 * j / DIM) for j in range(DIM // 2)]
    got = Rope.plain(DIM, BASE)(x, BatchPositions([position], [1], 1))
    assert close(got[0, 0, 0], turned(x[0, 0, 0].tolist(), periods, position))


@given(position=st.integers(0, 500))
def test_partial_turns_the_first_dimensions_as_a_head_of_their_own(position):
    x = head()
    got = Rope.partial(DIM, BASE, 0.25)(x, BatchPositions([position], [1], 1))[0, 0, 0]
    periods = [BASE ** (2 * j / 4) for j in range(2)]
    assert close(got[:4], turned(x[0, 0, 0, :4].tolist(), periods, position))
    assert mx.array_equal(got[4:], x[0, 0, 0, 4:])


@given(position=st.integers(0, 500))
def test_proportional_turns_the_first_pairs_of_the_whole_head(position):
    x = head()
    periods = [BASE ** (2 * j / DIM) for j in range(2)] + [math.inf] * 6
    got = Rope.proportional(DIM, BASE, 0.25)(x, BatchPositions([position], [1], 1))
    assert close(got[0, 0, 0], turned(x[0, 0, 0].tolist(), periods, position))


def test_each_row_turns_from_its_own_start():
    x = mx.random.normal((3, 2, 4, DIM), key=mx.random.key(1))
    starts = [0, 17, 5]
    for rope in (Rope.plain(DIM, BASE), Rope.partial(DIM, BASE, 0.5), Rope.proportional(DIM, BASE, 0.5)):
        got = rope(x, BatchPositions(starts, [4] * 3, 4))
        alone = [rope(x[i : i + 1], BatchPositions([start], [4], 4)) for i, start in enumerate(starts)]
        assert mx.allclose(got, mx.concatenate(alone), atol=1e-6)
