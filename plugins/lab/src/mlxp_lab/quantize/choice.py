"""How one module is packed, what that costs, and what of it MLX has."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

Mode = Literal["affine", "mxfp4", "mxfp8", "nvfp4"]

AFFINE_BITS = (2, 3, 4, 5, 6, 8)
AFFINE_GROUPS = (32, 64, 128)
FIXED = {"mxfp4": (4, 32), "mxfp8": (8, 32), "nvfp4": (4, 16)}
"""Modes that have one width and one group: mode -> (bits, group)."""

_SCALE_BITS = {"affine": 32, "mxfp4": 8, "mxfp8": 8, "nvfp4": 8}
"""Bits beside each group: a 16-bit scale and a 16-bit bias, or one scale of 8 bits."""

PLAIN_BITS = 16.0
"""Bits of a weight that is not quantized."""


class Choice(Struct, frozen=True, order=True):
    """Bits of a weight, weights that share a scale, and the arithmetic, as ``mlx.core.quantize`` names it."""

    bits: int
    group_size: int
    mode: Mode = "affine"

    @property
    def bits_per_weight(self) -> float:
        """Return what a weight costs, its share of scale and bias included."""
        return self.bits + _SCALE_BITS[self.mode] / self.group_size

    @property
    def label(self) -> str:
        """Return a short name, such as ``4bit-g64``."""
        return f"{self.bits}bit-g{self.group_size}" if self.mode == "affine" else self.mode


def fitting(choice: Choice, inputs: int) -> Choice | None:
    """Return the choice for a matrix with so many inputs: with a smaller group if need be; ``None`` if none divides."""
    if inputs % choice.group_size == 0:
        return choice
    if choice.mode != "affine":
        return None
    smaller = (
        group for group in reversed(AFFINE_GROUPS) if group < choice.group_size and inputs % group == 0
    )
    group = next(smaller, None)
    return None if group is None else Choice(choice.bits, group)


def size_bytes(weights: int, choice: Choice | None) -> int:
    """Return the bytes of so many weights; ``None`` = plain."""
    each = PLAIN_BITS if choice is None else choice.bits_per_weight
    return round(weights * each / 8)
