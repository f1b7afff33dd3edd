"""Learned positions over an image, and what heads are turned by."""

import mlx.core as mx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlxp_qwen35.eyes.places import spread, turn_of, turned

counts = st.integers(2, 12)


def table_of(side, hidden=3):
    return mx.random.normal((side * side, hidden), key=mx.random.key(side))


@given(st.integers(1, 6), counts, counts)
def test_corners_of_an_image_have_the_positions_of_the_corners(side, rows, columns):
    table = table_of(side)
    square = table.reshape(side, side, -1)
    image = spread(table, (rows, columns)).reshape(rows, columns, -1)
    for row in (0, -1):
        for column in (0, -1):
            assert mx.allclose(image[row, column], square[row, column], atol=1e-5)


@given(st.integers(2, 9))
def test_an_image_as_large_as_the_table_has_its_positions(side):
    assert mx.allclose(spread(table_of(side), (side, side)), table_of(side), atol=1e-5)


@given(st.integers(2, 6), counts, counts)
def test_between_neighbours_positions_are_mixed_by_distance(side, rows, columns):
    """A table that is linear along each axis is stretched like the plane that it is."""
    along = mx.arange(side) / (side - 1)
    table = mx.stack([3 * along[:, None] + 0 * along, 5 * along[None] + 0 * along[:, None]], axis=-1)
    image = spread(table.reshape(side * side, 2), (rows, columns)).reshape(rows, columns, 2)
    assert mx.allclose(image[..., 0], 3 * (mx.arange(rows) / (rows - 1))[:, None], atol=1e-5)
    assert mx.allclose(image[..., 1], 5 * (mx.arange(columns) / (columns - 1))[None], atol=1e-5)


def test_an_odd_place_lies_between_two_positions():
    row, column = spread(mx.array([[0.0], [1.0], [10.0], [100.0]]), (2, 3)), 1
    assert row.reshape(2, 3)[:, column].tolist() == pytest.approx([0.5, 55.0])


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2), st.integers(0, 3), st.integers(0, 2), st.integers(0, 3))
def test_scores_depend_on_where_patches_are_from_each_other(row, column, other_row, other_column):
    turn = turn_of((6, 8), 12, 100.0)
    q, k = mx.random.normal((2, 12), key=mx.random.key(1))

    def everywhere(vector):
        return turned(mx.broadcast_to(vector, (1, 1, 48, 12)), turn)[0, 0].reshape(6, 8, 12)

    queries, keys = everywhere(q), everywhere(k)

    def score(down, across):
        query = queries[row + down, column + across]
        return (query * keys[other_row + down, other_column + across]).sum().item()

    assert score(3, 4) == pytest.approx(score(0, 0), abs=1e-4)
    if (row, column) != (other_row, other_column):
        assert score(0, 0) != pytest.approx((q * k).sum().item(), abs=1e-6)


def test_turning_keeps_the_type_and_is_computed_in_float32():
    x, turn = mx.random.normal((1, 2, 12, 8), key=mx.random.key(2)), turn_of((3, 4), 8, 1e4)
    short = x.astype(mx.bfloat16)
    assert turned(short, turn).dtype == mx.bfloat16
    assert mx.array_equal(turned(short, turn), turned(short.astype(mx.float32), turn).astype(mx.bfloat16))
