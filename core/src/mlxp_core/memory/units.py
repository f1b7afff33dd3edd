"""Bytes as people write them."""

import re

from mlxp_core.errors import SettingsError

_UNITS = {
    "": 1,
    "b": 1,
    **{f"{letter}b": 1000**power for power, letter in enumerate("kmgt", 1)},
    **{f"{letter}ib": 1024**power for power, letter in enumerate("kmgt", 1)},
}
_WRITTEN = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([a-zA-Z]*)\s*")


def parse_bytes(text: str, what: str) -> int:
    """Return the bytes that ``text`` means: a number, and a unit (``12GB`` = 12 * 10^9, ``8GiB`` = 8 * 2^30).

    Args:
        text: as written in settings or on the command line.
        what: the setting, for the message.

    Raises:
        SettingsError: it is no number, or the unit is not known, or it comes to nothing.
    """
    match = _WRITTEN.fullmatch(text)
    unit = _UNITS.get(match[2].lower()) if match else None
    size = 0 if match is None or unit is None else int(float(match[1]) * unit)
    if size < 1:
        raise SettingsError(
            f"{what}: {text!r} is no amount of memory; write bytes, or a number with a unit such as 12GB or 8GiB"
        )
    return size


def told(size: int) -> str:
    """Return a size for people, such as ``8.4 GB``; units of 1000."""
    amount, unit = float(size), "bytes"
    for larger in ("kB", "MB", "GB", "TB"):
        if abs(amount) < 1000:  # noqa: PLR2004  # the next unit
            break
        amount, unit = amount / 1000, larger
    return f"{size} bytes" if unit == "bytes" else f"{amount:.1f} {unit}"
