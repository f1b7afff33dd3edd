"""Images for tests, as files and as clients send them."""

import io

from PIL import Image

from mlxp_core.types import ImageBytes

Colour = tuple[int, int, int]


def encoded(image: Image.Image, kind: str = "PNG", *, exif: Image.Exif | None = None) -> bytes:
    """Return an image as the bytes of a file of this kind, by Pillow's name."""
    file = io.BytesIO()
    if exif is None:
        image.save(file, kind)
    else:
        image.save(file, kind, exif=exif)
    return file.getvalue()


def chequered(width: int, height: int, colour: Colour = (200, 30, 30)) -> Image.Image:
    """Return an image whose every pixel tells where it is: red and green grow, ``colour`` shines through."""
    image = Image.new("RGB", (width, height))
    red, green, blue = colour
    image.putdata(
        [((red + 3 * x) % 256, (green + 5 * y) % 256, blue) for y in range(height) for x in range(width)]
    )
    return image


def picture(width: int = 2, height: int = 2, colour: Colour = (200, 30, 30)) -> ImageBytes:
    """Return a chequered image as a client sends it."""
    return ImageBytes(encoded(chequered(width, height, colour)), "image/png")
