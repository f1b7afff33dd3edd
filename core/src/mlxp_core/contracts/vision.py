"""How a family sees: a half without arrays (preparing), and a half with them (the tower)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from msgspec import Struct

from mlxp_core.contracts.family import FamilyConfig, RawConfig

if TYPE_CHECKING:
    import mlx.core as mx
    from PIL import Image


class Pixels(Struct, frozen=True, kw_only=True):
    """One prepared image.

    Attributes:
        values: float32 numbers in native byte order, shaped ``shape``.
        shape: as the tower expects it.
        tokens: soft tokens the tower will make of it.
        grid: (frames, rows, columns) of those tokens.
        digest: SHA-256 of the encoded image and the preparer's settings, for caches.
    """

    values: bytes
    shape: tuple[int, ...]
    tokens: int
    grid: tuple[int, int, int]
    digest: str


class ImagePreparer(Protocol):
    """Runs on worker threads; imports no arrays."""

    placeholder: str
    """What the chat template prints for one image."""

    def prepare(self, image: Image.Image, digest: str) -> Pixels:
        """Resize an upright RGB image and cut it into patches."""
        ...

    def expand(self, pixels: Pixels) -> tuple[str, str, str]:
        """Return the text before, per soft token, and after, that stands for the image in the prompt."""
        ...


class VisionNetwork(Protocol):
    """A tower (an ``mlx.nn.Module``), called on the engine thread only."""

    def __call__(self, pixels: mx.array, grid: tuple[int, int, int]) -> mx.array:
        """Return features ``[tokens, hidden]`` that take the place of the placeholder's embeddings."""
        ...


class VisionTower(Struct, frozen=True, kw_only=True):
    """One kind of eye. ``files`` are weight files beside the index that belong to it, when present."""

    name: str
    preparer: Callable[[RawConfig, Mapping[str, Any]], ImagePreparer]
    build: Callable[[FamilyConfig], VisionNetwork]
    rename: Callable[[str], str | None]
    files: tuple[str, ...] = ()
