"""Images on their way to Qwen 3.5's eyes: brought to a size that can be cut into soft tokens, near their own."""

import math
from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct, ValidationError, convert
from PIL import Image

from mlxp_core.contracts import Expansion, Pixels
from mlxp_core.errors import BadRequest, UnsupportedModel
from mlxp_qwen35.config import Size
from mlxp_qwen35.eyes.config import TowerConfig

_SOFT = "<|image_pad|>"
_SLIM = 200
"""How many times as long as wide an image may be; longer ones the models were not trained on."""


class _Area(Struct, frozen=True):
    """``size``: pixels of an image, whatever the names say of edges."""

    shortest_edge: Size = 256 * 256
    longest_edge: Size = 4096 * 4096


class _Settings(Struct, frozen=True, kw_only=True):
    """Of processor_config.json or preprocessor_config.json: what may differ from model to model."""

    size: _Area | None = None
    min_pixels: Size | None = None
    max_pixels: Size | None = None
    patch_size: Size | None = None
    merge_size: Size | None = None
    resample: Image.Resampling | None = None
    do_resize: Literal[True] = True
    do_rescale: bool = True
    rescale_factor: float = 1 / 255
    do_normalize: bool = True
    image_mean: tuple[float, ...] | None = None
    image_std: tuple[float, ...] | None = None

    @property
    def plain(self) -> bool:
        """Say whether the tower gets colours from -1 to 1, as it takes for granted."""
        halves = {*(self.image_mean or ()), *(self.image_std or ())} <= {0.5}
        rescaled = self.do_rescale and math.isclose(self.rescale_factor, 1 / 255, rel_tol=1e-6)
        return rescaled and self.do_normalize and halves


class Preparer(Struct, frozen=True, kw_only=True):
    """Resizes images for one model.

    Attributes:
        side: pixels of a soft token, both ways.
        least: pixels of an image; smaller ones are enlarged.
        most: pixels of an image; larger ones are reduced.
        resample: how pixels between pixels are found.
    """

    side: int
    least: int
    most: int
    resample: Image.Resampling

    @property
    def placeholder(self) -> str:
        """What the chat template prints for one image, its marks around it."""
        return _SOFT

    def prepare(self, image: Image.Image, digest: str) -> Pixels:
        """Resize an upright RGB image: ``[height, width, 3]`` bytes.

        Raises:
            BadRequest: it is slimmer than any the models were trained on.
        """
        if max(image.size) > _SLIM * min(image.size):
            raise BadRequest(
                f"an image of {image.width} by {image.height} pixels is more than {_SLIM} times as long as wide, "
                f"which this model does not take; crop it"
            )
        rows, columns = grid_of(image.height, image.width, self.side, self.least, self.most)
        height, width = rows * self.side, columns * self.side
        return Pixels(
            values=image.resize((width, height), self.resample).tobytes(),
            shape=(height, width, 3),
            tokens=rows * columns,
            grid=(1, rows, columns),
            digest=digest,
        )

    def expand(self, pixels: Pixels) -> Expansion:  # noqa: ARG002 - all images are expanded alike
        """Return what stands for the image in the prompt."""
        return Expansion(each=_SOFT)


def preparer(config: TowerConfig, settings: Mapping[str, Any]) -> Preparer:
    """Return what resizes images for one model.

    Args:
        config: of the tower that will look at them.
        settings: of images, as the model's files have them.

    Raises:
        UnsupportedModel: a setting is wrong, contradicts the tower, or asks for what is not done here.
    """
    try:
        own = convert(settings, _Settings)
    except ValidationError as error:
        raise _unsupported(str(error)) from error
    if not own.plain:
        raise _unsupported(
            "colours other than from -1 to 1 are not supported (rescale_factor 1/255, image_mean 0.5, image_std 0.5)"
        )
    for name, value, built in (
        ("patch_size", own.patch_size, config.patch),
        ("merge_size", own.merge_size, config.merge),
    ):
        if value not in (None, built):
            raise _unsupported(f"{name} is {value}, but config.json's tower has {built}")
    area = own.size or _Area()
    least, most = own.min_pixels or area.shortest_edge, own.max_pixels or area.longest_edge
    if least > most:
        raise _unsupported(f"an image has at least {least} pixels and at most {most}; one must be wrong")
    resample = Image.Resampling.BICUBIC if own.resample is None else own.resample
    return Preparer(side=config.side, least=least, most=most, resample=resample)


def grid_of(height: int, width: int, side: int, least: int, most: int) -> tuple[int, int]:
    """Return (rows, columns) of the soft tokens of an image: those nearest to its own size within the bounds.

    Beyond a bound it is scaled to it, keeping its shape, then rounded inwards. The images a model was trained on were
    measured in floating-point numbers of 64 bits, in the order kept here, and halves rounded to the even number.

    Args:
        height: of the image, in pixels.
        width: of the image, in pixels.
        side: pixels of a soft token, both ways.
        least: pixels of the image it becomes.
        most: pixels of the image it becomes; at least one soft token each way, whatever it says.
    """
    rows, columns = round(height / side), round(width / side)
    area = rows * columns * side**2
    if area > most:
        scale = math.sqrt(height * width / most)
        rows, columns = (max(1, math.floor(length / scale / side)) for length in (height, width))
    elif area < least:
        scale = math.sqrt(least / (height * width))
        rows, columns = (math.ceil(length * scale / side) for length in (height, width))
    return rows, columns


def _unsupported(what: str) -> UnsupportedModel:
    return UnsupportedModel(f"qwen35: image settings: {what}")
