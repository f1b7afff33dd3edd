"""Checkpoints as files: each piece a file of safetensors, each checkpoint a line that names its pieces, and a checksum.

A piece is called by the digest of all that is in it, so what is shared is written once, and what is damaged does not
have the name it should. Files are written under another name and renamed when they are whole.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from mlxp_core.promptcache.keys import Namespace
from mlxp_core.promptcache.layout import Checkpoint
from mlxp_core.promptcache.tree import Tokens

VERSION = 2
"""Of the layout of both kinds of files; others are dropped."""

PIECE, LIST = ".safetensors", ".checkpoint"
"""How names of files end."""

_MARK = f"mlxp-promptcache-{VERSION}"
_DTYPES = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "I64": 8, "I32": 4, "U32": 4, "I16": 2, "U16": 2, "U8": 1}


class Damaged(Exception):  # named as our errors are, though it never leaves the room
    """A file is not what it should be.

    Attributes:
        file: its name.
    """

    def __init__(self, file: str, why: str) -> None:
        super().__init__(f"{file} {why}")
        self.file = file


class Tensor(Struct, frozen=True):
    """An array on the host: its type as safetensors calls it, its shape, and its bytes, rows first."""

    dtype: str
    shape: tuple[int, ...]
    data: bytes | memoryview


Rows = Sequence[Sequence[Tensor]]
"""The arrays of each layer of a piece."""


class Filed(Struct, frozen=True):
    """A piece on disk: a ``Span``; ``name`` is the digest of what is in it."""

    name: str
    first: int
    stop: int
    nbytes: int


class FiledCheckpoint(Struct, frozen=True):
    """A checkpoint on disk, and what it belongs to."""

    namespace: Namespace
    key: Tokens
    row: Checkpoint[Filed]

    @property
    def name(self) -> str:
        """Return the name of its file, without the ending."""
        space = self.namespace
        told = "\0".join((space.weights, space.scheme, *space.adapters, str(self.key)))
        return hashlib.blake2b(told.encode(), digest_size=16).hexdigest()

    @property
    def parts(self) -> tuple[Filed, ...]:
        """Return the pieces it names."""
        return self.row.parts

    def reaches(self, length: int) -> bool:
        """Say whether it can serve the first ``length`` of its tokens."""
        return self.row.reaches(length)


class _Line(Struct, frozen=True):
    """A checkpoint as it is written; images in the key are texts, as their numbers are too long for JSON."""

    namespace: Namespace
    key: tuple[int | str, ...]
    row: Checkpoint[Filed]


def write_piece(folder: Path, first: int, stop: int, rows: Rows) -> Filed:
    """Write a piece, unless it is there, and return what it is called.

    Raises:
        OSError: it cannot be written.
    """
    name = _digest(first, stop, rows)
    tensors = [tensor for row in rows for tensor in row]
    sizes = [_size(tensor) for tensor in tensors]
    filed = Filed(name, first, stop, sum(sizes))
    path = folder / f"{name}{PIECE}"
    if not path.is_file():
        head = _header(first, stop, rows, sizes)
        _write(path, [len(head).to_bytes(8, "little"), head, *(tensor.data for tensor in tensors)])
    return filed


def read_piece(folder: Path, filed: Filed) -> list[list[Tensor]]:
    """Read a piece and check it.

    Raises:
        Damaged: it is missing or not what it was.
    """
    path = folder / f"{filed.name}{PIECE}"
    try:
        data = path.read_bytes()
        size = int.from_bytes(data[:8], "little")
        header = json.loads(data[8 : 8 + size])
        rows = _rows(header, memoryview(data)[8 + size :])
    except (OSError, ValueError, KeyError, TypeError, IndexError) as error:
        raise Damaged(path.name, f"cannot be read: {error}") from error
    if _digest(filed.first, filed.stop, rows) != filed.name:
        raise Damaged(path.name, "does not hold what it should: its checksum differs")
    return rows


def write_checkpoint(folder: Path, checkpoint: FiledCheckpoint) -> None:
    """Write what names the pieces of a checkpoint, which are there.

    Raises:
        OSError: it cannot be written.
    """
    key = tuple(token if token >= 0 else hex(token) for token in checkpoint.key)
    line = _Line(checkpoint.namespace, key, checkpoint.row)
    body = msgspec.json.encode(line)
    _write(folder / f"{checkpoint.name}{LIST}", [f"{_MARK} {_checksum(body)}\n".encode(), body])


def read_checkpoint(path: Path) -> FiledCheckpoint:
    """Read what names the pieces of a checkpoint.

    Raises:
        Damaged: it is of another version, or not what it was.
    """
    try:
        head, _, body = path.read_bytes().partition(b"\n")
        if head.decode().split(" ") != [_MARK, _checksum(body)]:
            raise Damaged(path.name, f"is damaged, or of another version than {_MARK}")
        line = msgspec.json.decode(body, type=_Line)
    except (OSError, ValueError) as error:
        raise Damaged(path.name, f"cannot be read: {error}") from error
    key = tuple(token if isinstance(token, int) else int(token, 16) for token in line.key)
    return FiledCheckpoint(line.namespace, key, line.row)


def _write(path: Path, blocks: Sequence[bytes | memoryview]) -> None:
    fresh = path.with_name(f".{path.name}.new")
    try:
        with fresh.open("wb") as file:
            for block in blocks:
                file.write(block)
        os.replace(fresh, path)  # noqa: PTH105  # on every system, over a file that is there
    except OSError:
        fresh.unlink(missing_ok=True)  # half a file, on a disk that may be full
        raise


def _header(first: int, stop: int, rows: Rows, sizes: Sequence[int]) -> bytes:
    """Return the header of safetensors, filled up with blanks so that the data is aligned."""
    about = {"format": _MARK, "first": str(first), "stop": str(stop), "layers": str(len(rows))}
    told: dict[str, object] = {"__metadata__": about}
    ends = list(accumulate(sizes))
    places = iter(zip([0, *ends], ends, strict=False))
    for number, row in enumerate(rows):
        for place, tensor in enumerate(row):
            told[f"{number}.{place}"] = {
                "dtype": tensor.dtype,
                "shape": tensor.shape,
                "data_offsets": next(places),
            }
    head = json.dumps(told).encode()
    return head + b" " * (-len(head) % 8)


def _rows(header: dict[str, Any], data: memoryview) -> list[list[Tensor]]:
    rows: list[list[Tensor]] = [[] for _ in range(int(header.pop("__metadata__")["layers"]))]
    for name, told in header.items():
        number, _, _ = name.partition(".")
        begin, end = told["data_offsets"]
        rows[int(number)].append(Tensor(told["dtype"], tuple(told["shape"]), data[begin:end]))
    return rows


def _size(tensor: Tensor) -> int:
    count = _DTYPES[tensor.dtype]
    for side in tensor.shape:
        count *= side
    return count


def _digest(first: int, stop: int, rows: Rows) -> str:
    seen = hashlib.blake2b(f"{_MARK} {first} {stop} {len(rows)}".encode(), digest_size=16)
    for number, row in enumerate(rows):
        for tensor in row:
            seen.update(f"\0{number} {tensor.dtype} {tensor.shape}\0".encode())
            seen.update(tensor.data)
    return seen.hexdigest()


def _checksum(body: bytes) -> str:
    return hashlib.blake2b(body, digest_size=16).hexdigest()
