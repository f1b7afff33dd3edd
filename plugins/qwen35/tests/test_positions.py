"""Places of text and images, the shift that images leave behind, and turning by three axes."""

import math

import mlx.core as mx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlxp_core.contracts import ImageSpan, Inputs
from mlxp_core.kv import BatchCache, BatchPositions
from mlxp_qwen35.config import Rotary
from mlxp_qwen35.positions import AxialRope, Places, ShiftCache, lay_out

IMAGE = ImageSpan(2, 6, (1, 2, 3))
ROTARY = Rotary(dims=8, theta=100.0, sections=(2, 1, 1))

grids = st.tuples(st.integers(1, 2), st.integers(1, 4), st.integers(1, 4))


def walk(length, spans):
    """Place a sequence as the rule says, token by token: time, row and column of each."""
    places, at = [], 0
    begin = {span.start: span for span in spans}
    while len(places) < length:
        span = begin.get(len(places))
        if span is None:
            places.append((at, at, at))
            at += 1
            continue
        frames, rows, columns = span.grid
        grid = [(f, y, x) for f in range(frames) for y in range(rows) for x in range(columns)]
        places += [(at + f, at + y, at + x) for f, y, x in grid]
        at += max(span.grid)
    return places[:length]


@st.composite
def sequences(draw):
    """Text and images in turn: a length and the spans."""
    spans, length = [], 0
    for grid in draw(st.lists(grids, max_size=3)):
        start = length + draw(st.integers(0, 4))
        spans.append(ImageSpan(start, math.prod(grid), grid))
        length = spans[-1].end
    return length + draw(st.integers(0, 5)), spans


def inputs(starts, counts, spans):
    width = max(1, *counts)
    at = BatchPositions(starts, counts, width)
    images = tuple(
        tuple(span for span in row if span.start < start + count and span.end > start)
        for row, start, count in zip(spans, starts, counts, strict=True)
    )
    return Inputs(tokens=mx.zeros((len(starts), width), dtype=mx.int32), at=at, images=images)


def axes_of(places, width):
    """Return what a pass says: ``[rows, width]`` triples."""
    if places.axes is None:
        line = places.offset[:, None] + mx.arange(width)
        return mx.stack([line] * 3, axis=-1).tolist()
    return places.axes.swapaxes(1, 2).tolist()


def test_an_image_takes_the_room_of_its_longer_side():
    axes, shift = lay_out(0, 10, 10, [IMAGE])
    assert shift == 3 - 6
    assert axes[0] == [0, 1, 2, 2, 2, 2, 2, 2, 5, 6]
    assert axes[1] == [0, 1, 2, 2, 2, 3, 3, 3, 5, 6]
    assert axes[2] == [0, 1, 2, 3, 4, 2, 3, 4, 5, 6]


@given(sequence=sequences(), cut=st.integers(1, 9))
@settings(deadline=None)
def test_any_cut_places_tokens_alike(sequence, cut):
    length, spans = sequence
    cache, found = ShiftCache(), []
    for start in range(0, length, cut):
        count = min(cut, length - start)
        found += axes_of(cache.place(inputs([start], [count], [spans])), count)[0]
    assert [tuple(place) for place in found] == walk(length, spans)


@given(rows=st.lists(sequences(), min_size=2, max_size=3), cut=st.integers(1, 9))
@settings(max_examples=50, deadline=None)
def test_rows_are_placed_each_by_itself(rows, cut):
    cache = ShiftCache()
    for _ in rows[1:]:
        cache.join(ShiftCache())
    found = [[] for _ in rows]
    for start in range(0, max(length for length, _ in rows), cut):
        starts = [min(start, length) for length, _ in rows]
        counts = [min(cut, length - begin) for begin, (length, _) in zip(starts, rows, strict=True)]
        passed = axes_of(cache.place(inputs(starts, counts, [spans for _, spans in rows])), max(1, *counts))
        for row, count in enumerate(counts):
            found[row] += [tuple(place) for place in passed[row][:count]]
    assert found == [walk(length, spans) for length, spans in rows]


def test_text_costs_nothing():
    cache = ShiftCache()
    for start in (0, 9):
        places = cache.place(inputs([start], [9], [[]]))
        assert places.axes is None
        assert places.offset.tolist() == [start]
    assert cache.nbytes == 0
    assert cache.freeze(0, 18).nbytes == 0
    assert cache.can_trim(0, 0, 18)


def after_image():
    """Return the cache of a row of 9 tokens that has seen an image."""
    cache = ShiftCache()
    cache.place(inputs([0], [9], [[IMAGE]]))
    return cache


def offsets(cache, starts):
    return cache.place(inputs(starts, [1] * len(starts), [[]] * len(starts))).offset.tolist()


def test_the_shift_goes_with_its_row():
    cache = ShiftCache()
    cache.join(after_image())
    cache.join(ShiftCache())
    assert offsets(cache, [4, 9, 5]) == [4, 6, 5]
    cache.keep([2, 1])
    assert offsets(cache, [5, 9]) == [5, 6]
    assert not cache.can_trim(1, 8, 9)
    assert cache.can_trim(0, 0, 5)


def test_a_row_goes_back_as_far_as_its_last_image():
    cache = ShiftCache()
    cache.join(after_image())
    offsets(cache, [4, 9])
    assert cache.can_trim(0, 0, 5)
    assert cache.can_trim(1, 9, 10)
    assert not cache.can_trim(1, 8, 10)
    thawed = ShiftCache().thaw(cache.freeze(1, 10))
    assert not thawed.can_trim(0, 9, 10)
    offsets(thawed, [10])
    assert thawed.can_trim(0, 10, 11)
    assert not thawed.can_trim(0, 9, 11)


def test_a_snapshot_keeps_the_shift():
    cache = BatchCache([after_image()], [9])
    snapshot = cache.freeze(0)
    assert snapshot.nbytes == cache.nbytes == 4
    cache.layers[0].place(inputs([9], [9], [[ImageSpan(10, 6, (1, 2, 3))]]))
    thawed = BatchCache([ShiftCache()]).thaw(snapshot)
    assert offsets(thawed.layers[0], [9]) == [6]
    assert offsets(cache.layers[0], [18]) == [12]
    assert offsets(BatchCache([ShiftCache()]).thaw(BatchCache([ShiftCache()]).freeze(0)).layers[0], [7]) == [
        7
    ]


def by_hand(head, place, rotary):
    """Turn one head of one token, in plain Python."""
    half, out = rotary.dims // 2, list(head)
    for j in range(half):
        axis = j % 3 if j < 3 * rotary.sections[j % 3] else 0
        angle = place[axis] * rotary.theta ** (-2 * j / rotary.dims)
        a, b = head[j], head[j + half]
        out[j] = a * math.cos(angle) - b * math.sin(angle)
        out[j + half] = b * math.cos(angle) + a * math.sin(angle)
    return out


@pytest.mark.parametrize("sections", [(2, 1, 1), (1, 1, 0)])
def test_each_frequency_follows_its_axis(sections):
    rotary = Rotary(dims=8, theta=100.0, sections=sections)
    places = [(3, 4, 5), (0, 0, 0), (7, 1, 2)]
    x = mx.random.normal((1, 1, 3, 12), key=mx.random.key(0))
    axes = mx.array([places], dtype=mx.int32).swapaxes(1, 2)
    turned = AxialRope(rotary).turn(Places(mx.array([0]), axes))(x)
    expected = [by_hand(x[0, 0, token].tolist(), place, rotary) for token, place in enumerate(places)]
    assert mx.allclose(turned[0, 0], mx.array(expected), atol=1e-5)


@given(starts=st.lists(st.integers(0, 1000), min_size=1, max_size=3))
@settings(max_examples=20, deadline=None)
def test_text_is_turned_alike_along_one_axis_and_along_three(starts):
    rope, offset = AxialRope(ROTARY), mx.array(starts, dtype=mx.int32)
    x = mx.random.normal((len(starts), 2, 5, 16), key=mx.random.key(1))
    line = offset[:, None] + mx.arange(5)
    three = rope.turn(Places(offset, mx.stack([line] * 3, axis=1)))(x)
    assert mx.allclose(rope.turn(Places(offset))(x), three, atol=1e-4)


def test_sixteen_bits_stay_sixteen_bits():
    x = mx.ones((1, 1, 2, 16), dtype=mx.bfloat16)
    axes = mx.zeros((1, 3, 2), dtype=mx.int32)
    assert AxialRope(ROTARY).turn(Places(mx.array([0]), axes))(x).dtype == mx.bfloat16
