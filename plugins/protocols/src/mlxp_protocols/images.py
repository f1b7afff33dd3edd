"""Images in request bodies: base64 and URLs."""

import base64
import binascii

from mlxp_core.errors import BadRequest
from mlxp_core.types import ImageBytes, ImageUrl


def from_url(url: str, place: str) -> ImageBytes | ImageUrl:
    """Return the image that a URL means: the bytes of a ``data:`` URL, or an address to fetch.

    Args:
        url: ``data:<media type>;base64,<data>``, ``http://...`` or ``https://...``.
        place: path of the field, for the error.

    Raises:
        BadRequest: any other kind of URL, or damaged base64.
    """
    scheme, _, rest = url.partition(":")
    match scheme.lower():
        case "data":
            return _from_data_url(rest, place)
        case "http" | "https":
            return ImageUrl(url)
        case _:
            raise BadRequest(f"{place}: send a data: URL with base64, or an http(s) URL", param=place)


def from_base64(data: str, media_type: str, place: str) -> ImageBytes:
    """Return the image in a base64 string; line breaks in it are allowed.

    Raises:
        BadRequest: it is empty or no base64.
    """
    try:
        image = base64.b64decode("".join(data.split()), validate=True)
    except (binascii.Error, ValueError) as error:
        raise BadRequest(f"{place}: the image is not valid base64: {error}", param=place) from error
    if not image:
        raise BadRequest(f"{place}: the image is empty", param=place)
    return ImageBytes(image, media_type)


def _from_data_url(rest: str, place: str) -> ImageBytes:
    head, comma, data = rest.partition(",")
    media_type, *parameters = head.split(";")
    if not comma or "base64" not in parameters:
        raise BadRequest(f"{place}: a data: URL must read data:<media type>;base64,<data>", param=place)
    return from_base64(data, media_type, place)
