"""The transfer functions of hybrid log-gamma (ITU-R BT.2100, table 5), with a token's probability for the light.

All take log-probabilities ``[rows, n]`` in float32 and return numbers to draw by; what is impossible stays so. None of
them has settings, so they need no row of their own.
"""

import math

import mlx.core as mx

A, B, C = 0.17883277, 0.28466892, 0.55991073
"""Constants of the curve."""

KNEE = 1 / 12
"""Light up to which the signal is its square root."""

_LEAST = 1e-9  # what a logarithm is taken of, at least


def system_gamma(peak: float = 1000.0) -> float:
    """Return the gamma of a display whose peak is this bright, in cd/m^2; 1.2 at 1000."""
    return 1.2 + 0.42 * math.log10(peak / 1000)


def oetf(rows: mx.array) -> mx.array:
    """Return the logarithm of the signal that light as strong as the relative probability makes."""
    return _kept(rows, mx.log(mx.maximum(_signal(rows), _LEAST)))


def eotf(rows: mx.array) -> mx.array:
    """Return the logarithm of the light that a signal as strong as the relative probability makes."""
    depth = _depth(rows)
    signal = mx.exp(depth)
    # Below one half the signal is a root of the light, whose logarithm need not go through numbers near zero.
    bright = mx.log((mx.exp((signal - C) / A) + B) / 12)
    light = mx.where(signal >= 0.5, bright, 2 * depth - math.log(3))  # noqa: PLR2004  # where the two pieces meet
    return _kept(rows, system_gamma() * light)


def pipeline(rows: mx.array, scale: float = 5.0) -> mx.array:
    """Return ``scale`` times the signal to the power of the display's gamma."""
    return _kept(rows, scale * mx.maximum(_signal(rows), _LEAST) ** system_gamma())


def _signal(rows: mx.array) -> mx.array:
    light = mx.exp(_depth(rows))
    bright = A * mx.log(mx.maximum(12 * light - B, _LEAST)) + C
    return mx.where(light >= KNEE, bright, math.sqrt(3) * mx.sqrt(light))


def _depth(rows: mx.array) -> mx.array:
    """Return log-probabilities relative to the likeliest token's."""
    return rows - mx.max(rows, axis=-1, keepdims=True)


def _kept(rows: mx.array, shaped: mx.array) -> mx.array:
    return mx.where(mx.isneginf(rows), -mx.inf, shaped)
