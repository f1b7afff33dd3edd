"""Reads slices of weight files: the bytes of one rank, and no others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, MutableMapping
from io import FileIO
from pathlib import Path

import mlx.core as mx

from mlxp_core.errors import ModelFolderError
from mlxp_core.loading.files import where
from mlxp_core.loading.parts import Slice

Progress = Callable[[int, int], object]

_DTYPES: Mapping[str, mx.Dtype] = {
    "BOOL": mx.bool_,
    "U8": mx.uint8,
    "I8": mx.int8,
    "U16": mx.uint16,
    "I16": mx.int16,
    "F16": mx.float16,
    "BF16": mx.bfloat16,
    "U32": mx.uint32,
    "I32": mx.int32,
    "F32": mx.float32,
    "U64": mx.uint64,
    "I64": mx.int64,
}
"""Type, as a header calls it -> MLX's; double precision is for no GPU, and in no checkpoint."""


class Slices(MutableMapping[str, mx.array]):
    """Arrays by name. A slice is read when it is first asked for, and one that is deleted before never is.

    Attributes:
        read_bytes: what has been read so far.
    """

    def __init__(self, slices: Mapping[str, Slice], progress: Progress | None = None) -> None:
        """Begin with nothing read; ``progress`` is told (bytes read, most that may be) after each slice."""
        self.read_bytes = 0
        self._slices = dict(slices)
        self._arrays: dict[str, mx.array] = {}
        self._progress = progress
        self._most = sum(each.nbytes for each in slices.values())

    def __getitem__(self, name: str) -> mx.array:
        if name not in self._arrays:
            self._arrays[name] = self._read(self._slices.pop(name))
        return self._arrays[name]

    def __setitem__(self, name: str, array: mx.array) -> None:
        self._slices.pop(name, None)
        self._arrays[name] = array

    def __delitem__(self, name: str) -> None:
        if self._slices.pop(name, None) is None:
            del self._arrays[name]

    def __iter__(self) -> Iterator[str]:
        return iter([*self._arrays, *self._slices])

    def __len__(self) -> int:
        return len(self._arrays) + len(self._slices)

    def __contains__(self, name: object) -> bool:
        return name in self._arrays or name in self._slices

    def _read(self, wanted: Slice) -> mx.array:
        dtype = _DTYPES.get(wanted.tensor.dtype)
        if dtype is None:
            raise ModelFolderError(
                f"{where(wanted.tensor.file)} holds numbers of type {wanted.tensor.dtype}, of which no slices are read"
            )
        if wanted.absent:
            return mx.zeros(wanted.shape, dtype=dtype)
        data = read_stretches(wanted.tensor.file, wanted.stretches(), wanted.nbytes)
        self.read_bytes += len(data)
        if self._progress is not None:
            self._progress(self.read_bytes, self._most)
        flat = mx.array(memoryview(data))  # type: ignore[arg-type]  # it takes any buffer
        return mx.view(flat, dtype).reshape(wanted.shape)


def read_stretches(path: Path, stretches: Iterator[tuple[int, int]], size: int) -> bytearray:
    """Return ``size`` bytes of a file, from several places, one behind the other.

    Raises:
        ModelFolderError: the file cannot be read, or has become shorter.
    """
    data = bytearray(size)
    view, filled = memoryview(data), 0
    try:
        with path.open("rb", buffering=0) as file:
            for place, count in stretches:
                _fill(file, view[filled : filled + count], place)
                filled += count
    except OSError as error:
        raise ModelFolderError(f"{where(path)} cannot be read: {error}") from error
    return data


def _fill(file: FileIO, into: memoryview, place: int) -> None:
    """Fill a buffer from a place in an open file.

    The system may give less at a time than it is asked for. macOS refuses to be asked for 2 GiB or more; ``readinto``
    never asks it for that, ``preadv`` would.
    """
    file.seek(place)
    done = 0
    while done < len(into):
        count = file.readinto(into[done:])
        if not count:
            raise OSError(f"it ends before byte {place + len(into)}")
        done += count
