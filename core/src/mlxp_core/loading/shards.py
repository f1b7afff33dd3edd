"""The weight files of a model folder, checked by their headers alone.

A safetensors file is the length of its header (8 bytes, little endian), the header (a JSON object: tensor name ->
``dtype``, ``shape``, ``data_offsets``), and the numbers. Every claim of a header is checked against the file here, so
that a download that broke off is found out before anything is loaded.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeGuard

from msgspec import Struct

from mlxp_core.errors import ModelFolderError
from mlxp_core.loading.files import model_name, parse, read_object, where

INDEX = "model.safetensors.index.json"
SINGLE = "model.safetensors"

ITEM_BYTES = {
    "BOOL": 1,
    "U8": 1,
    "I8": 1,
    "U16": 2,
    "I16": 2,
    "F16": 2,
    "BF16": 2,
    "U32": 4,
    "I32": 4,
    "F32": 4,
    "U64": 8,
    "I64": 8,
    "F64": 8,
}
"""Type, as a header calls it -> bytes of one number."""

_LONGEST_HEADER = 100_000_000
"""Bytes; the format's own limit."""


class StoredTensor(Struct, frozen=True):
    """A tensor in a weight file; its numbers begin at byte ``begin``."""

    file: Path
    dtype: str
    shape: tuple[int, ...]
    begin: int = 0


def find_tensors(folder: Path) -> dict[str, StoredTensor]:
    """Return every tensor of a folder by name, from the index or from the single file.

    Raises:
        ModelFolderError: when a file is missing, cut off or inconsistent.
    """
    if (folder / INDEX).is_file():
        return _from_index(folder)
    if not (folder / SINGLE).is_file():
        raise ModelFolderError(
            f"{model_name(folder)}: no weights; it needs {SINGLE}, or {INDEX} and the files that it names"
        )
    return read_header(folder / SINGLE)


def read_header(path: Path) -> dict[str, StoredTensor]:
    """Return the tensors of one weight file, every claim of its header checked.

    Raises:
        ModelFolderError: when the file is unreadable, cut off or inconsistent.
    """
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            if size < 8 or length > min(size - 8, _LONGEST_HEADER):  # noqa: PLR2004  # bytes of the length itself
                raise ModelFolderError(f"{where(path)} is cut off within its header; fetch the file again")
            text = file.read(length)
    except OSError as error:
        raise ModelFolderError(f"{where(path)} cannot be read: {error}") from error
    header = parse(text, path)
    if not isinstance(header, dict):
        raise ModelFolderError(f"{where(path)} is damaged: its header is no JSON object")
    return dict(_entries(header, 8 + length, size, path))


def _entries(
    header: Mapping[str, Any], numbers: int, size: int, path: Path
) -> Iterator[tuple[str, StoredTensor]]:
    for name, entry in header.items():
        if name != "__metadata__":
            yield name, _entry(name, entry, (numbers, size), path)


def _entry(name: str, entry: Any, place: tuple[int, int], path: Path) -> StoredTensor:
    """Check one entry of a header; the numbers of the file lie between the two bytes of ``place``."""
    room = place[1] - place[0]
    fields = entry if isinstance(entry, dict) else {}
    dtype, shape, offsets = fields.get("dtype"), fields.get("shape"), fields.get("data_offsets")
    item = ITEM_BYTES.get(dtype) if isinstance(dtype, str) else None
    if item is None:
        raise ModelFolderError(f"{where(path)}: tensor {name!r} is of type {dtype!r}, which MLX cannot read")
    if not (_is_counts(shape) and _is_counts(offsets) and len(offsets) == 2):  # noqa: PLR2004  # begin and end
        raise ModelFolderError(f"{where(path)} is damaged: tensor {name!r} has no proper shape or place")
    begin, end = offsets
    if end - begin != math.prod(shape) * item:
        raise ModelFolderError(
            f"{where(path)} is damaged: tensor {name!r} of shape {shape} does not fill bytes {begin} to {end}"
        )
    if end > room:
        raise ModelFolderError(
            f"{where(path)} is cut off: tensor {name!r} ends at byte {end}, the file has {room}; fetch it again"
        )
    return StoredTensor(path, str(dtype), tuple(shape), place[0] + begin)


def _is_counts(value: Any) -> TypeGuard[list[int]]:
    return isinstance(value, list) and all(type(entry) is int and 0 <= entry < 2**62 for entry in value)


def _from_index(folder: Path) -> dict[str, StoredTensor]:
    index = read_object(folder / INDEX)
    places = index.get("weight_map")
    if not isinstance(places, dict) or not places:
        raise ModelFolderError(f"{where(folder / INDEX)} has no weight_map, which says where each tensor is")
    files: dict[str, dict[str, StoredTensor]] = {}
    for name, file in places.items():
        if not isinstance(file, str) or not file or Path(file).name != file:
            raise ModelFolderError(
                f"{where(folder / INDEX)}: {file!r} is no name of a file in the same folder"
            )
        if file not in files:
            if not (folder / file).is_file():
                raise ModelFolderError(
                    f"{model_name(folder)}/{file} is missing, but the index names it; fetch it again"
                )
            files[file] = read_header(folder / file)
        if name not in files[file]:
            raise ModelFolderError(
                f"{model_name(folder)}/{file}: tensor {name!r} should be here by the index, but is not"
            )
    return {name: files[file][name] for name, file in places.items()}
