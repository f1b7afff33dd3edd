"""A model's sight without arrays: from encoded images to pixels, and from placeholders to the tokens of images.

The chat template prints one placeholder for an image. Once the prompt is tokenized, the k-th placeholder is replaced by
what stands for the k-th image: a few tokens around as many soft tokens as the tower will make of it.
"""

from __future__ import annotations

import hashlib
import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.json import encode
from msgspec.structs import replace

from mlxp_core.contracts import ImagePreparer, ImageSpan, Pixels
from mlxp_core.errors import BadRequest, PluginError
from mlxp_core.prompting.tokenizer import Tokenizer
from mlxp_core.types import ImageBytes

_ITEM_BYTES = {"uint8": 1, "float32": 4}


class Expanded(Struct, frozen=True):
    """Tokens with images in them.

    Attributes:
        tokens: of the prompt.
        spans: where the soft tokens of each image are.
        boundaries: the given ones, moved to where they are now.
    """

    tokens: tuple[int, ...]
    spans: tuple[ImageSpan, ...]
    boundaries: tuple[int, ...]


class Sight:
    """Prepares images for one model; holds no changing state, so threads may share it.

    Attributes:
        placeholder: id of the token that stands for an image until it is expanded.
        whole_images: whether a pass over the prompt must not cut an image.
    """

    def __init__(
        self,
        preparer: ImagePreparer,
        tokenizer: Tokenizer,
        *,
        settings: Mapping[str, object] | None = None,
        whole_images: bool = False,
    ) -> None:
        """Take a preparer into service.

        Args:
            preparer: the tower's.
            tokenizer: the model's.
            settings: what the preparer was made from; goes into digests.
            whole_images: whether a pass over the prompt must not cut an image.

        Raises:
            PluginError: the placeholder is no single token of this tokenizer.
        """
        self._preparer = preparer
        self._tokenizer = tokenizer
        self._salt = hashlib.sha256(encode(settings or {}, order="deterministic")).digest()
        self.placeholder = self._token(preparer.placeholder)
        self.whole_images = whole_images

    def look(self, images: Sequence[ImageBytes]) -> tuple[Pixels, ...]:
        """Open and prepare the images of a prompt.

        Raises:
            BadRequest: one cannot be read or used; says which.
        """
        return tuple(self._prepare(image.data, f"image {number}") for number, image in enumerate(images, 1))

    def expand(self, tokens: Sequence[int], images: Sequence[Pixels], boundaries: Sequence[int]) -> Expanded:
        """Put images where their placeholders are.

        Args:
            tokens: of the prompt, a placeholder for each image.
            images: in the order of the placeholders.
            boundaries: lengths of beginnings of ``tokens``, to be moved along.

        Raises:
            BadRequest: there are not as many placeholders as images.
        """
        places = [place for place, token in enumerate(tokens) if token == self.placeholder]
        if len(places) != len(images):
            raise BadRequest(
                f"the conversation has {len(images)} images, but its prompt shows {len(places)}: send images in user "
                f"messages or tool results, and do not write {self._preparer.placeholder!r} in a text",
                param="prompt",
            )
        out: list[int] = []
        spans: list[ImageSpan] = []
        grown = [0]  # by how much the prompt is longer behind the first images
        done = 0
        for place, pixels in zip(places, images, strict=True):
            before, soft, after = self._written(pixels)
            out += [*tokens[done:place], *before, *soft, *after]
            spans.append(ImageSpan(len(out) - len(after) - len(soft), len(soft), pixels.grid))
            done = place + 1
            grown.append(len(out) - done)
        moved = tuple(boundary + grown[bisect_left(places, boundary)] for boundary in boundaries)
        return Expanded((*out, *tokens[done:]), tuple(spans), moved)

    def _prepare(self, data: bytes, name: str) -> Pixels:
        from mlxp_core.prompting.images import open_image  # noqa: PLC0415  # Pillow, once there is an image

        image = open_image(data, name)
        digest = hashlib.sha256(self._salt + data).hexdigest()
        try:
            pixels = self._preparer.prepare(image, digest)
        except BadRequest as error:
            raise BadRequest(f"{name}: {error.message}", param="prompt") from error
        _check(pixels)
        return replace(pixels, digest=digest)

    def _written(self, pixels: Pixels) -> tuple[list[int], list[int], list[int]]:
        """Return the tokens in front of an image, its own, and those behind it."""
        expansion = self._preparer.expand(pixels)
        soft = [self._token(expansion.each)] * pixels.tokens
        return self._tokenizer.encode(expansion.before), soft, self._tokenizer.encode(expansion.after)

    def _token(self, text: str) -> int:
        token = self._tokenizer.token_id(text)
        if token is None:
            raise PluginError(f"{text!r} should stand for images, but is no token of the model's tokenizer")
        return token


def _check(pixels: Pixels) -> None:
    """Hold what a preparer made against what it says of it."""
    size = math.prod(pixels.shape) * _ITEM_BYTES[pixels.dtype]
    if len(pixels.values) != size:
        raise PluginError(
            f"pixels of shape {pixels.shape} and type {pixels.dtype} have {size} bytes, not {len(pixels.values)}"
        )
    if pixels.tokens < 1 or math.prod(pixels.grid) != pixels.tokens:
        raise PluginError(f"an image became {pixels.tokens} tokens in a grid of {pixels.grid}")
