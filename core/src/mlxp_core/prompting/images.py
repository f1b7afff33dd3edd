"""Encoded images as clients send them -> upright RGB images; whatever is wrong with one is said by its name.

Only formats that Pillow reads by itself and safely are opened (no PostScript, for one), told by their content and
never by what the client calls them. HEIC and AVIF are among them where this Pillow can.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from io import BytesIO
from typing import TypeVar

from PIL import Image, ImageOps

from mlxp_core.errors import BadRequest
from mlxp_core.prompting.limits import MOST_BYTES, MOST_PIXELS

T = TypeVar("T")

_FORMATS = ("PNG", "JPEG", "WEBP", "GIF", "BMP", "TIFF", "AVIF", "HEIF")
_WHITE = (255, 255, 255, 255)
_BOMBS = (Image.DecompressionBombError, Image.DecompressionBombWarning)
_FAULTS = (
    ArithmeticError,
    AttributeError,
    EOFError,
    LookupError,
    MemoryError,
    OSError,
    RuntimeError,
    SyntaxError,
    TypeError,
    ValueError,
    struct.error,
)
"""What Pillow's decoders raise on damaged data."""


def open_image(data: bytes, name: str) -> Image.Image:
    """Decode an image and turn it the way its EXIF says, transparent parts on white; of several frames the first.

    Args:
        data: the encoded image.
        name: what to call it in an error.

    Raises:
        BadRequest: it is too large, damaged, or no image of a format that this server reads.
    """
    if len(data) > MOST_BYTES:
        raise _refused(name, f"has {len(data)} bytes; an image may have {MOST_BYTES}, send a smaller one")
    formats = readable_formats()
    try:
        image = _attempt(lambda: Image.open(BytesIO(data), formats=formats))
    except _BOMBS as bomb:
        raise _too_many_pixels(name) from bomb
    if image is None:
        raise _refused(name, f"is no image of a supported format ({', '.join(formats)})")
    if image.width * image.height > MOST_PIXELS:
        raise _too_many_pixels(name)
    if min(image.size) < 1 or _attempt(image.load) is None:
        raise _refused(name, f"is damaged: its {image.format} data cannot be decoded")
    flat = _attempt(lambda: _flat(_upright(image)))
    if flat is None:
        raise _refused(name, f"has colours ({image.mode}) that cannot be turned into RGB")
    return flat


def readable_formats() -> tuple[str, ...]:
    """Return the formats that are read here, by Pillow's names."""
    Image.init()
    return tuple(name for name in _FORMATS if name in Image.OPEN)


def _upright(image: Image.Image) -> Image.Image:
    """Turn an image as its EXIF says; where the EXIF is damaged, it is upright already."""
    turned = _attempt(lambda: ImageOps.exif_transpose(image))
    return image if turned is None else turned


def _flat(image: Image.Image) -> Image.Image:
    """Return an image as RGB: 16-bit greys scaled to 8 bits, transparency laid on white."""
    if image.mode.startswith("I;16"):
        return image.point(lambda value: value * (255 / 65535) + 0.5).convert("L").convert("RGB")
    if not image.has_transparency_data:
        return image.convert("RGB")
    paper = Image.new("RGBA", image.size, _WHITE)
    return Image.alpha_composite(paper, image.convert("RGBA")).convert("RGB")


def _attempt(decode: Callable[[], T]) -> T | None:
    """Return what ``decode`` returns, or nothing where the data is not what it seemed to be."""
    try:
        return decode()
    except _FAULTS:
        return None


def _too_many_pixels(name: str) -> BadRequest:
    return _refused(name, f"has more than {MOST_PIXELS} pixels, the most an image may have; scale it down")


def _refused(name: str, why: str) -> BadRequest:
    return BadRequest(f"{name} {why}", param="prompt")
