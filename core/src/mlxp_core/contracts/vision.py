"""How a family sees: a half without arrays (preparing), and a half with them (the tower).

An image goes through these hands: the core opens the client's bytes (upright, RGB), the preparer resizes it and says
how many tokens it will be, the core puts that many tokens in place of the one that the chat template printed, and on
the engine thread the tower turns the pixels into features that stand where those tokens' embeddings would.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping
from typing import TYPE_CHECKING, Any, Literal, Protocol

from msgspec import Struct

from mlxp_core.contracts.family import RawConfig
from mlxp_core.types import ImageNeed

if TYPE_CHECKING:
    import mlx.core as mx
    from PIL import Image

VisionConfig = Any
"""Whatever the tower's ``config`` reader returned; opaque to everybody else."""


class Pixels(Struct, frozen=True, kw_only=True):
    """One prepared image.

    Attributes:
        values: numbers in native byte order, shaped ``shape``, rows first; often simply the resized image's bytes.
        shape: as the tower expects it.
        dtype: of ``values``. Bytes are a quarter of the memory, and the tower scales and cuts them faster.
        tokens: soft tokens the tower will make of it, at least one.
        grid: (frames, rows, columns) of those tokens.
        digest: tells this image apart from all others, for caches; what ``ImagePreparer.prepare`` was given.
    """

    values: bytes
    shape: tuple[int, ...]
    dtype: Literal["uint8", "float32"] = "uint8"
    tokens: int
    grid: tuple[int, int, int]
    digest: str


class Expansion(Struct, frozen=True):
    """What stands for one image in the prompt, in place of the placeholder that the chat template printed.

    Attributes:
        each: the text of one token; it stands there once for each soft token.
        before: text in front of them; empty where the template writes it.
        after: text behind them.
    """

    each: str
    before: str = ""
    after: str = ""


class ImagePreparer(Protocol):
    """Made once for a model and shared by worker threads; imports no arrays."""

    @property
    def placeholder(self) -> str:
        """What the chat template prints for one image: the text of one token."""
        ...

    def prepare(self, image: Image.Image, digest: str) -> Pixels:
        """Resize an upright RGB image to what the tower takes.

        Args:
            image: as the client means it to be seen; any size from 1 by 1.
            digest: SHA-256, in hexadecimal, over the encoded image and the model's image settings.

        Raises:
            BadRequest: the image cannot be brought to a size the tower takes; the core adds which image it is.
        """
        ...

    def expand(self, pixels: Pixels) -> Expansion:
        """Return what stands for the image in the prompt."""
        ...


class VisionNetwork(Protocol):
    """A tower (an ``mlx.nn.Module``), called on the engine thread only, for one image at a time."""

    def __call__(self, pixels: mx.array, grid: tuple[int, int, int]) -> mx.array:
        """Return features ``[tokens, hidden]``, in the order and on the scale of ``LanguageModel.embed``.

        Args:
            pixels: the values of ``Pixels``, of their shape and type.
            grid: of ``Pixels``.
        """
        ...


class VisionTower(Struct, frozen=True, kw_only=True):
    """One kind of eye. A model has it if its configuration says so and there are weights for it.

    Attributes:
        name: unique; what ``ModelFamily.vision_tower`` refers to.
        config: read config.json; ``None`` = a model without eyes. ``UnsupportedModel`` = eyes we cannot build: the
            model is served without them, and the operator is told.
        preparer: configuration and image settings -> the half without arrays. The settings are those of
            processor_config.json with its ``image_processor`` section laid over them, or, where it has none,
            preprocessor_config.json; empty where the model has neither file.
        build: configuration -> network with unset parameters, on its first image. Imports mlx inside.
        rename: checkpoint tensor name -> parameter name of the tower; ``None`` drops the tensor. The family's own
            ``rename`` drops what this one keeps. Quantized parts follow their ``.weight``.
        convert: change renamed tensors that need more than a new name; may be absent.
        files: names of weight files beside the checkpoint's own that belong to the tower; those present are read.
        float32: endings of parameter names that are float32 whatever type the other weights are served in.
        need: configuration -> what looking at an image takes beside the weights; absent = nobody counts it.
    """

    name: str
    config: Callable[[RawConfig], VisionConfig | None]
    preparer: Callable[[VisionConfig, Mapping[str, Any]], ImagePreparer]
    build: Callable[[VisionConfig], VisionNetwork]
    rename: Callable[[str], str | None]
    convert: Callable[[MutableMapping[str, mx.array], VisionConfig], None] | None = None
    files: tuple[str, ...] = ()
    float32: tuple[str, ...] = ()
    need: Callable[[VisionConfig], ImageNeed] | None = None
