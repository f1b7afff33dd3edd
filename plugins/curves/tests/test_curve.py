"""Curves: what points are taken, and what runs through them."""

import math
from itertools import pairwise

import mlx.core as mx
import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlxp_curves.bend import bend
from mlxp_curves.curve import CLOSEST, Curve, Point, secants, spline, tangents

FLOOR = math.log(1e-6)


def curve(*points):
    return Curve(tuple(Point(*point) for point in points))


@st.composite
def curves(draw):
    """Draw a curve that rises: gaps of at least the least one, and steps of any height."""
    gaps = draw(st.lists(st.floats(2 * CLOSEST, 5), min_size=1, max_size=12))
    steps = draw(st.lists(st.floats(0, 5), min_size=len(gaps), max_size=len(gaps)))
    last_x, last_y = draw(st.floats(-3, 0)), draw(st.floats(-3, 0))
    points = [(last_x, last_y)]
    for gap, step in zip(gaps, steps, strict=True):
        x, y = points[-1]
        points.append((max(x - gap, math.log(1e-11)), max(y - step, math.log(1e-11))))
    kept = [points[0]]
    for point in points[1:]:
        if kept[-1][0] - point[0] > CLOSEST * 1.5:
            kept.append(point)
    if len(kept) == 1:
        kept.append((last_x - 1, last_y))
    order = draw(st.permutations(kept))
    return curve(*((100 * math.exp(x), 100 * math.exp(y)) for x, y in order))


def test_the_vector(vectors):
    known = vectors["curve"]
    drawn = curve(*known["points"])
    assert secants(drawn.knots()) == pytest.approx(known["secants"], abs=1e-6)
    assert tangents(drawn.knots()) == pytest.approx(known["tangents"], abs=1e-6)
    assert [spline(drawn).at(u) for u in known["u"]] == pytest.approx(known["values"], abs=1e-6)
    assert bend([drawn])(mx.array([known["u"]]))[0].tolist() == pytest.approx(known["values"], abs=1e-5)


@settings(deadline=None)
@given(curves())
def test_it_goes_through_its_points(drawn):
    for u, height in drawn.knots():
        assert spline(drawn).at(u) == pytest.approx(height, abs=1e-9)


@settings(deadline=None)
@given(curves(), st.lists(st.floats(-30, 0), min_size=2, max_size=20))
def test_it_never_falls(drawn, places):
    heights = [spline(drawn).at(u) for u in sorted(places)]
    assert all(after >= before - 1e-9 for before, after in pairwise(heights))


@settings(deadline=None)
@given(curves(), st.floats(0, 1))
def test_it_never_leaves_its_neighbours(drawn, share):
    for (left, low), (right, high) in pairwise(drawn.knots()):
        assert low - 1e-9 <= spline(drawn).at(left + share * (right - left)) <= high + 1e-9


@settings(deadline=None)
@given(curves(), st.randoms())
def test_the_order_of_points_does_not_matter(drawn, random):
    points = list(drawn.points)
    random.shuffle(points)
    assert spline(Curve(tuple(points))) == spline(drawn)


@settings(deadline=None)
@given(curves(), st.floats(-60, -30))
def test_the_tail_stays_as_unlikely(drawn, u):
    """Below the first point, a nat less is at least a nat less."""
    first, low = drawn.knots()[0]
    assert spline(drawn).at(u) <= low + (u - first) + 1e-9


@settings(deadline=None)
@given(curves(), st.lists(st.floats(-40, 0, width=32), min_size=1, max_size=30))
def test_the_device_agrees_with_the_scalar_spline(drawn, places):
    bent = bend([drawn])(mx.array([places]))[0].tolist()
    assert bent == pytest.approx([spline(drawn).at(u) for u in places], rel=1e-4, abs=1e-3)


@settings(deadline=None)
@given(st.lists(curves(), min_size=2, max_size=5), st.integers(0, 2**31))
def test_a_row_is_bent_as_alone(several, seed):
    rows = 8 * mx.random.normal((len(several), 50), key=mx.random.key(seed))
    rows = rows - mx.logsumexp(rows, axis=-1, keepdims=True)
    together = bend(several)(rows)
    for at, drawn in enumerate(several):
        assert mx.array_equal(together[at], bend([drawn])(rows[at : at + 1])[0])


@pytest.mark.parametrize(
    ("points", "said"),
    [
        ([(1, 1)], "length >= 2"),
        ([(pct, pct) for pct in range(1, 66)], "length <= 64"),
        ([(1, 1), (1, 2)], "two have x_pct 1;"),
        ([(0, 1), (1e-10, 2)], "two have x_pct 1e-09"),
        ([(1, 1), (1.0005, 2)], "two have x_pct 1;"),
        ([(1, 2), (50, 1), (100, 100)], "falls between x_pct 1 and 50"),
        ([(1, 1), (100, 101)], "<= 100"),
        ([(-1, 1), (100, 100)], ">= 0"),
    ],
)
def test_what_is_no_rising_curve_is_refused(points, said):
    body = {"points": [{"x_pct": x, "y_pct": y} for x, y in points]}
    with pytest.raises(msgspec.ValidationError, match=said):
        msgspec.convert(body, Curve)


def test_curves_that_may_fall_are_refused():
    body = {"points": [{"x_pct": 1, "y_pct": 1}, {"x_pct": 2, "y_pct": 2}], "monotonic": False}
    with pytest.raises(msgspec.ValidationError, match="monotonic"):
        msgspec.convert(body, Curve)


@pytest.mark.parametrize("number", ["NaN", "Infinity", "1e400"])
def test_numbers_that_are_none_are_refused(number):
    text = f'{{"points": [{{"x_pct": {number}, "y_pct": 1}}, {{"x_pct": 2, "y_pct": 2}}]}}'
    with pytest.raises(msgspec.DecodeError):
        msgspec.json.decode(text, type=Curve)
