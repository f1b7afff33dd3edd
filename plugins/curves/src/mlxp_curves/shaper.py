"""A tone curve in three pieces: a cubic toe, a power below the middle, a logarithm above it; then a display's gamma.

A window of ``window`` nats below the likeliest token is mapped to ``x`` in 0 .. 1. All below it ties at the floor, so
the curve rises, but not strictly.
"""

import math
from functools import cached_property

import mlx.core as mx
from msgspec import Struct

from mlxp_curves.literal import system_gamma

_LEAST = 1e-9  # what a logarithm or a power is taken of, at least
_FLATTEST = 1e-6  # least height that is stretched to the gap


class Shaper(Struct, frozen=True, kw_only=True, dict=True):
    """A tone curve.

    Attributes:
        peak: of the display, in cd/m^2; its gamma follows from it.
        window: nats that are mapped to 0 .. 1.
        middle: where power and logarithm meet, ``(x, y)``.
        foot: where toe and power meet.
        power: of the piece between.
        slope: at the middle.
        softness: of the logarithm.
        target_gap: in nats, what a gap of ``reference_gap`` below the likeliest token becomes.
        scale: factor of the result; ``None`` = such that the gap is met.
    """

    peak: float = 1200.0
    window: float = 10.0
    middle: tuple[float, float] = (0.55, 0.5)
    foot: tuple[float, float] = (0.2, 0.18)
    power: float = 2.0
    slope: float = 0.7
    softness: float = 0.35
    target_gap: float = 15.0
    reference_gap: float = 4.0
    scale: float | None = None

    @cached_property
    def bow(self) -> float:
        """Return the factor of the power, with which it meets the foot."""
        across = self.middle[0] - self.foot[0]
        return (self.middle[1] - self.slope * across - self.foot[1]) / math.pow(across, self.power)

    @cached_property
    def toe(self) -> tuple[float, float]:
        """Return ``e, f`` of the toe ``e x^3 + f x^2``, which meets the power's height and slope at the foot."""
        x, y = self.foot
        slope = self.slope + self.bow * self.power * math.pow(self.middle[0] - x, self.power - 1)
        return (2 * x * y - x**2 * slope) / -(x**4), (x**3 * slope - 3 * x**2 * y) / -(x**4)

    @cached_property
    def gamma(self) -> float:
        """Return the display's gamma."""
        return system_gamma(max(self.peak, 1e-3))

    @cached_property
    def stretch(self) -> float:
        """Return the factor of the result."""
        if self.scale is not None:
            return self.scale
        reference = mx.array(min(1.0, max(0.0, 1 - self.reference_gap / self.window)))
        return self.target_gap / max(_FLATTEST, 1 - float(self._relative(reference)))

    def __call__(self, rows: mx.array) -> mx.array:
        """Shape ``[rows, n]`` log-probabilities; what is impossible stays so."""
        depth = rows - mx.max(rows, axis=-1, keepdims=True)
        shaped = self._relative(mx.clip(depth / self.window + 1, 0, 1)) * self.stretch
        return mx.where(mx.isneginf(rows), -mx.inf, shaped)

    def _relative(self, x: mx.array) -> mx.array:
        """Return the height at ``x``, of that at 1, through the gamma."""
        return mx.maximum(self.height(x) / self.height(mx.array(1.0)), _LEAST) ** self.gamma

    def height(self, x: mx.array) -> mx.array:
        """Return the curve's height at ``x``, not below 0."""
        (middle, high), (foot, _), (e, f) = self.middle, self.foot, self.toe
        bright = high + self.softness * mx.log(
            mx.maximum(1 + self.slope / self.softness * (x - middle), _LEAST)
        )
        down = mx.maximum(middle - x, _LEAST)
        between = high - self.slope * (middle - x) - self.bow * down**self.power
        below = e * x**3 + f * x**2
        return mx.maximum(mx.where(x >= middle, bright, mx.where(x >= foot, between, below)), 0.0)
