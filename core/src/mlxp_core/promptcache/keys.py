"""What prompts are known by: their tokens, their images, and the model they were read by."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path

from msgspec import Struct

from mlxp_core.contracts import ImageSpan
from mlxp_core.promptcache.tree import Tokens

_SAMPLE = 2**16
"""Bytes read at either end of a weight file."""


class Namespace(Struct, frozen=True):
    """What keys and values depend on besides the tokens. Rows of one namespace never serve another.

    Attributes:
        weights: identity of the weights; see ``weights_identity``.
        scheme: how keys and values are kept.
        adapters: identities of their files, in the order in which they are applied.
    """

    weights: str
    scheme: str
    adapters: tuple[str, ...] = ()


def prompt_key(tokens: Tokens, spans: Sequence[ImageSpan], digests: Sequence[str]) -> Tokens:
    """Return the tokens, with those of an image replaced by a number that only this image has.

    Args:
        tokens: of the prompt.
        spans: where images are, in order.
        digests: of the images, hexadecimal.
    """
    if not spans:
        return tokens
    key = list(tokens)
    for span, digest in zip(spans, digests, strict=True):
        key[span.start : span.end] = [-1 - int(digest, 16)] * span.count  # tokens are never negative
    return tuple(key)


def outside_images(length: int, spans: Iterable[ImageSpan]) -> int:
    """Return the longest beginning of at most ``length`` tokens that ends within no image."""
    return next((span.start for span in spans if span.start < length < span.end), length)


def weights_identity(files: Iterable[Path], *facts: str) -> str:
    """Return what tells the weights of one model from any others, without reading all of them.

    Args:
        files: the weight files, and whatever else says how they are used, such as config.json.
        facts: what else the numbers depend on: type, device, versions.

    Returns:
        Hexadecimal, 32 letters. Two files are taken for one if they agree in name, size, time of the last change, and
        64 KiB at either end.
    """
    seen = hashlib.blake2b(digest_size=16)
    for fact in facts:
        seen.update(fact.encode() + b"\0")
    for path in sorted(files):
        stat = path.stat()
        seen.update(f"{path.name}\0{stat.st_size}\0{stat.st_mtime_ns}\0".encode())
        with path.open("rb") as file:
            seen.update(file.read(_SAMPLE))
            file.seek(max(0, stat.st_size - _SAMPLE))
            seen.update(file.read(_SAMPLE))
    return seen.hexdigest()
