"""HLG: the numbers that its formulas give, and what holds for all of them."""

from itertools import pairwise

import mlx.core as mx
import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlxp_curves.hlg import Hlg
from mlxp_curves.literal import eotf, oetf, pipeline
from mlxp_curves.modes import shape
from mlxp_curves.roll_off import roll_off
from mlxp_curves.shaper import Shaper

NATS = st.floats(0, 100, width=32)
SETTINGS = st.builds(
    Hlg,
    width=NATS,
    shoulder=NATS,
    toe=NATS,
    pivot_offset=NATS,
    pivot=st.sampled_from(["top", "entropy", "median"]),
    mode=st.sampled_from(["parametric", "oetf", "eotf", "pipeline", "shaper"]),
)


def probabilities(seed, rows=1, size=60):
    logits = 5 * mx.random.normal((rows, size), key=mx.random.key(seed))
    return logits - mx.logsumexp(logits, axis=-1, keepdims=True)


@pytest.mark.parametrize(
    ("name", "function"),
    [("parametric", roll_off([Hlg()])), ("oetf", oetf), ("eotf", eotf), ("pipeline", pipeline)],
)
def test_the_vectors(vectors, name, function):
    shaped = function(mx.array([vectors["log_probabilities"]]))
    assert shaped[0].tolist() == pytest.approx(vectors[name], abs=2e-5)


def test_the_vectors_of_the_shaper(vectors):
    known, shaper = vectors["shaper"], Shaper()
    assert shaper.bow == pytest.approx(known["bow"], abs=1e-6)
    assert shaper.toe == pytest.approx(known["toe"], abs=1e-6)
    assert shaper.height(mx.array(1.0)).item() == pytest.approx(known["peak_height"], abs=1e-6)
    assert shaper.gamma == pytest.approx(known["gamma"], abs=1e-6)
    assert shaper.stretch == pytest.approx(known["stretch"], abs=1e-3)
    assert Shaper(window=5).stretch == pytest.approx(known["stretch_at_window_5"], abs=1e-3)


def test_the_shaper_makes_the_gap_that_it_is_for():
    top, lower = Shaper()(mx.array([[0.0, -4.0]]))[0].tolist()
    assert top - lower == pytest.approx(15, abs=1e-3)


@settings(deadline=None)
@given(SETTINGS, st.integers(0, 2**31))
def test_it_never_turns_the_order_around(settings, seed):
    rows = mx.sort(probabilities(seed), axis=-1)
    shaped = shape([settings])(rows)[0].tolist()
    assert all(after >= before - 1e-4 for before, after in pairwise(shaped))


@settings(deadline=None)
@given(SETTINGS, st.permutations(range(60)), st.integers(0, 2**31))
def test_where_a_token_stands_does_not_matter(settings, order, seed):
    rows = probabilities(seed)
    moved = shape([settings])(rows[:, mx.array(order)])
    assert mx.allclose(moved, shape([settings])(rows)[:, mx.array(order)], atol=1e-4)


@settings(deadline=None)
@given(NATS, NATS, st.integers(0, 2**31))
def test_without_softness_nothing_changes_bit_for_bit(width, offset, seed):
    rows = probabilities(seed)
    assert mx.array_equal(shape([Hlg(width=width, pivot_offset=offset, shoulder=0, toe=0)])(rows), rows)
    assert mx.array_equal(shape([Hlg(width=width, enabled=False)])(rows), rows)


def test_the_shoulder_compresses_the_top_and_the_toe_the_tail():
    rows = mx.array([[0.0, -1.0, -18.0, -19.0]])
    top, second, third, last = shape([Hlg()])(rows)[0].tolist()
    assert 0 < top - second < 1
    assert 0 < third - last < 1


@pytest.mark.parametrize(("soft", "side"), [("shoulder", 0), ("toe", 1)])
def test_each_side_works_alone(soft, side):
    rows = mx.array([[0.0, -1.0, -18.0, -19.0]])
    other = {"shoulder": "toe", "toe": "shoulder"}[soft]
    shaped = shape([Hlg(**{other: 0})])(rows)[0].tolist()
    gaps = [shaped[0] - shaped[1], shaped[2] - shaped[3]]
    assert gaps[side] < 0.99
    assert gaps[1 - side] == pytest.approx(1, abs=1e-5)


def test_the_three_pivots_differ():
    rows = probabilities(1)
    shaped = [shape([Hlg(pivot=pivot, pivot_offset=0)])(rows) for pivot in ("top", "entropy", "median")]
    assert not mx.allclose(shaped[0], shaped[1])
    assert not mx.allclose(shaped[1], shaped[2])
    assert not mx.allclose(shaped[0], shaped[2])


def test_the_display_opens_the_gap_that_the_camera_closes():
    rows = mx.array([[0.0, -1.0]])
    gap = {name: shape([Hlg(mode=name)])(rows)[0] for name in ("oetf", "eotf")}
    assert (gap["eotf"][0] - gap["eotf"][1]).item() > 1 > (gap["oetf"][0] - gap["oetf"][1]).item()


@pytest.mark.parametrize(
    "body", [{"width": -1}, {"toe": 101}, {"pivot": "mean"}, {"mode": "gamma"}, {"shoulder": None}]
)
def test_settings_out_of_range_are_refused(body):
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(body, Hlg)
