"""A curve from the probability that a model gives a token to the one that it gets: points, and a monotone spline.

Points are percentages; the curve lives in natural logarithms. Between them runs the monotone cubic of Fritsch and
Carlson (https://doi.org/10.1137/0717021) with the weighted harmonic mean of Fritsch and Butland as tangents
(https://doi.org/10.1137/0905021): it goes through every point and never beyond its neighbours. Left of the first point
it is a line of slope at least 1, so that the tail of a vocabulary stays as unlikely as it was; right of the last one a
line that goes on as the curve ends.
"""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Annotated, Literal

from msgspec import Meta, Struct

LOWEST_PCT = 1e-9
"""A percentage below this counts as this: its logarithm would leave what a vocabulary holds."""

CLOSEST = 1e-3
"""Points are at least so far apart in x, in nats: a thousandth of a probability. Closer ones are a step, no curve."""

_SLACK = 1e-12  # how far below 0 rounding may bring a secant


class Point(Struct, frozen=True):
    """A point of a curve: a token of ``x_pct`` per cent counts as one of ``y_pct`` per cent."""

    x_pct: Annotated[float, Meta(ge=0, le=100)]
    y_pct: Annotated[float, Meta(ge=0, le=100)]


class Curve(Struct, frozen=True):
    """Settings of the stage ``curve``: at least two points, whose order does not matter.

    Raises:
        ValueError: points are too close, or the curve falls.
    """

    points: Annotated[tuple[Point, ...], Meta(min_length=2, max_length=64)]
    space: Literal["logprob"] = "logprob"
    monotonic: Annotated[bool, Meta(description="true; curves that fall are refused")] = True

    def __post_init__(self) -> None:
        """Refuse what is no rising curve."""
        if not self.monotonic:
            raise ValueError("monotonic: curves that fall are not drawn from; send true, or leave it out")
        knots = self.knots()
        for (left, below), (right, above) in pairwise(knots):
            if right - left < CLOSEST:
                raise ValueError(f"points: two have x_pct {_pct(left)}; keep them at least 0.1 % of it apart")
            if (above - below) / (right - left) < -_SLACK:
                raise ValueError(
                    f"points: the curve falls between x_pct {_pct(left)} and {_pct(right)}; let y_pct rise with x_pct"
                )

    def knots(self) -> list[tuple[float, float]]:
        """Return the points as natural logarithms of probabilities, from left to right."""
        return sorted((_nats(point.x_pct), _nats(point.y_pct)) for point in self.points)


class Piece(Struct, frozen=True, gc=False):
    """A cubic, from ``origin`` on: ``value + slope t + square t^2 + cube t^3`` with ``t = u - origin``."""

    origin: float
    value: float
    slope: float
    square: float = 0.0
    cube: float = 0.0

    def at(self, u: float) -> float:
        """Return the value at the log-probability ``u``."""
        t = u - self.origin
        return self.value + t * (self.slope + t * (self.square + t * self.cube))


class Spline(Struct, frozen=True):
    """A curve made ready: ``pieces[i]`` holds from ``starts[i - 1]`` on, the first one below all of them.

    Attributes:
        starts: log-probabilities of the points, rising.
        pieces: one more than ``starts``; the first and the last are lines.
    """

    starts: tuple[float, ...]
    pieces: tuple[Piece, ...]

    def at(self, u: float) -> float:
        """Return what the log-probability ``u`` becomes."""
        return self.pieces[sum(start <= u for start in self.starts)].at(u)


def secants(knots: Sequence[tuple[float, float]]) -> list[float]:
    """Return the slopes between neighbouring points."""
    return [(above - below) / (right - left) for (left, below), (right, above) in pairwise(knots)]


def tangents(knots: Sequence[tuple[float, float]]) -> list[float]:
    """Return the slope at each point: those of the outer secants at the ends, 0 where the curve turns or rests."""
    slopes = secants(knots)
    widths = [right - left for (left, _), (right, _) in pairwise(knots)]
    inner = [
        _mean(before, after, width_before, width_after)
        for (before, after), (width_before, width_after) in zip(
            pairwise(slopes), pairwise(widths), strict=True
        )
    ]
    return [slopes[0], *inner, slopes[-1]]


def spline(curve: Curve) -> Spline:
    """Return the curve as cubics."""
    knots = curve.knots()
    slopes = tangents(knots)
    ends = zip(pairwise(knots), pairwise(slopes), strict=True)
    inner = [_cubic(left, right, *tilts) for (left, right), tilts in ends]
    (first, low), (last, high) = knots[0], knots[-1]
    pieces = (Piece(first, low, max(slopes[0], 1.0)), *inner, Piece(last, high, slopes[-1]))
    return Spline(tuple(u for u, _ in knots), pieces)


def _cubic(left: tuple[float, float], right: tuple[float, float], tilt: float, next_tilt: float) -> Piece:
    """Return the Hermite cubic between two points with these slopes there."""
    width = right[0] - left[0]
    secant = (right[1] - left[1]) / width
    square = (3 * secant - 2 * tilt - next_tilt) / width
    cube = (tilt + next_tilt - 2 * secant) / width**2
    return Piece(*left, tilt, square, cube)


def _mean(before: float, after: float, width_before: float, width_after: float) -> float:
    if before * after <= 0:
        return 0.0
    heavy, light = 2 * width_after + width_before, width_after + 2 * width_before
    return (heavy + light) / (heavy / before + light / after)


def _nats(pct: float) -> float:
    return math.log(max(pct, LOWEST_PCT) / 100)


def _pct(nats: float) -> str:
    return f"{100 * math.exp(nats):.4g}"
