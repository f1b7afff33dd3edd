"""Apple's chips: how fast their memory is, and with how much of it they are sold (Apple's technical specifications)."""

from mlxp_core.types import Machine

USABLE_OF_RAM = 0.75
"""Part of an Apple computer's memory that models may take, where the system cannot be asked."""

_CHIPS: dict[str, tuple[int, tuple[int, ...]]] = {
    "M1": (68, (8, 16)),
    "M1 Pro": (200, (16, 32)),
    "M1 Max": (400, (32, 64)),
    "M1 Ultra": (800, (64, 128)),
    "M2": (100, (8, 16, 24)),
    "M2 Pro": (200, (16, 32)),
    "M2 Max": (400, (32, 64, 96)),
    "M2 Ultra": (800, (64, 128, 192)),
    "M3": (100, (8, 16, 24)),
    "M3 Pro": (150, (18, 36)),
    "M3 Max": (400, (36, 48, 64, 96, 128)),
    "M3 Ultra": (819, (96, 256, 512)),
    "M4": (120, (16, 24, 32)),
    "M4 Pro": (273, (24, 48)),
    "M4 Max": (546, (36, 48, 64, 128)),
}
"""Chip -> 10^9 bytes per second, and GiB of memory."""


def bandwidth(chip: str) -> float | None:
    """Return the 10^9 bytes per second of a chip; ``None`` = not in the table."""
    known = _CHIPS.get(chip)
    return None if known is None else float(known[0])


def machines() -> tuple[Machine, ...]:
    """Return every chip with every size of memory, as if a server ran there alone."""
    return tuple(
        Machine(
            backend="metal",
            chip=chip,
            ram_bytes=size * 2**30,
            usable_bytes=int(size * 2**30 * USABLE_OF_RAM),
            bandwidth_gbs=float(speed),
        )
        for chip, (speed, sizes) in _CHIPS.items()
        for size in sizes
    )
