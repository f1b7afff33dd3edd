"""Images on their way to Gemma 4's eyes: brought to a size that can be cut into soft tokens, as many as allowed."""

import math
from collections.abc import Mapping
from typing import Any

from msgspec import Struct, ValidationError, convert
from PIL import Image

from mlxp_core.contracts import Expansion, Pixels
from mlxp_core.errors import BadRequest, UnsupportedModel
from mlxp_gemma4.eyes.config import Cut
from mlxp_gemma4.keys import Size

_SOFT, _BEFORE, _AFTER = "<|image|>", "<|image>", "<image|>"


class _Settings(Struct, frozen=True, kw_only=True):
    """Of processor_config.json: what may differ from model to model."""

    max_soft_tokens: Size | None = None
    resample: Image.Resampling | None = None
    do_rescale: bool = True
    rescale_factor: float = 1 / 255
    do_normalize: bool = False
    image_mean: tuple[float, ...] | None = None
    image_std: tuple[float, ...] | None = None

    @property
    def plain(self) -> bool:
        """Say whether the networks get colours from 0 to 1, as they take for granted."""
        shifted = self.do_normalize and (any(self.image_mean or ()) or set(self.image_std or ()) - {1.0})
        return self.do_rescale and math.isclose(self.rescale_factor, 1 / 255, rel_tol=1e-6) and not shifted


class Preparer(Struct, frozen=True):
    """Resizes images for one model.

    Attributes:
        cut: how they will be cut.
        budget: soft tokens of one image, at most.
        resample: how pixels between pixels are found.
    """

    cut: Cut
    budget: int
    resample: Image.Resampling

    @property
    def placeholder(self) -> str:
        """What the chat template prints for one image."""
        return _SOFT

    def prepare(self, image: Image.Image, digest: str) -> Pixels:
        """Resize an upright RGB image, enlarging it too: ``[height, width, 3]`` bytes.

        Raises:
            BadRequest: it is so slim that there are no positions for its length.
        """
        rows, columns = grid_of(image.height, image.width, self.budget, self.cut.side)
        if max(rows, columns) > self.cut.longest:
            raise BadRequest(
                f"an image of {image.width} by {image.height} pixels would be {columns} by {rows} tokens, and this "
                f"model sees {self.cut.longest} in a line; crop it"
            )
        height, width = rows * self.cut.side, columns * self.cut.side
        return Pixels(
            values=image.resize((width, height), self.resample).tobytes(),
            shape=(height, width, 3),
            tokens=rows * columns,
            grid=(1, rows, columns),
            digest=digest,
        )

    def expand(self, pixels: Pixels) -> Expansion:  # noqa: ARG002 - all images are expanded alike
        """Return what stands for the image in the prompt."""
        return Expansion(each=_SOFT, before=_BEFORE, after=_AFTER)


def preparer(cut: Cut, settings: Mapping[str, Any]) -> Preparer:
    """Return what resizes images for one model.

    Args:
        cut: how they will be cut.
        settings: of images, as the model's files have them.

    Raises:
        UnsupportedModel: a setting is wrong, or asks for what is not done here.
    """
    try:
        own = convert(settings, _Settings)
    except ValidationError as error:
        raise UnsupportedModel(f"gemma4: image settings: {error}") from error
    if not own.plain:
        raise UnsupportedModel(
            "gemma4: image settings: colours other than from 0 to 1 are not supported (rescale_factor 1/255, "
            "image_mean 0, image_std 1)"
        )
    resample = Image.Resampling.BICUBIC if own.resample is None else own.resample
    return Preparer(cut, own.max_soft_tokens or cut.budget, resample)


def grid_of(height: int, width: int, budget: int, side: int) -> tuple[int, int]:
    """Return (rows, columns) of the soft tokens of an image: as many as the budget allows, shaped like the image.

    Both are rounded down. The images a model was trained on were measured in floating-point numbers of 64 bits, in the
    order kept here; exact arithmetic would now and then find a row more.

    Args:
        height: of the image, in pixels.
        width: of the image, in pixels.
        budget: soft tokens, at most.
        side: pixels of a soft token, both ways.
    """
    scale = math.sqrt(budget * side**2 / (height * width))
    rows, columns = math.floor(scale * height / side), math.floor(scale * width / side)
    if rows == 0:
        return 1, min(width // height, budget)
    if columns == 0:
        return min(height // width, budget), 1
    return rows, columns
