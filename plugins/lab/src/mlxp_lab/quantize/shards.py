"""Weight files of at most so many bytes, written one after the other; no more than one is held in memory."""

from __future__ import annotations

import json
from pathlib import Path

import mlx.core as mx

SINGLE = "model.safetensors"
INDEX = "model.safetensors.index.json"


class ShardWriter:
    """Writes arrays into a folder, in the order in which they come."""

    def __init__(self, folder: Path, limit_bytes: int) -> None:
        """Write into ``folder``; a file has ``limit_bytes`` at most, or one array."""
        self._folder = folder
        self._limit = limit_bytes
        self._held: dict[str, mx.array] = {}
        self._held_bytes = 0
        self._files: list[tuple[Path, list[str]]] = []
        self.total_bytes = 0

    def add(self, name: str, array: mx.array) -> None:
        """Take an array, computing it."""
        mx.eval(array)
        if self._held and self._held_bytes + array.nbytes > self._limit:
            self._flush()
        self._held[name] = array
        self._held_bytes += array.nbytes
        self.total_bytes += array.nbytes

    def finish(self, parameters: int) -> None:
        """Write the last file and, if there are several, the index; ``parameters`` = numbers of the unpacked model."""
        self._flush()
        if len(self._files) == 1:
            self._files[0][0].rename(self._folder / SINGLE)
            return
        places: dict[str, str] = {}
        for number, (file, names) in enumerate(self._files, start=1):
            final = f"model-{number:05d}-of-{len(self._files):05d}.safetensors"
            file.rename(self._folder / final)
            places.update(dict.fromkeys(names, final))
        index = {
            "metadata": {"total_size": self.total_bytes, "total_parameters": parameters},
            "weight_map": dict(sorted(places.items())),
        }
        (self._folder / INDEX).write_text(json.dumps(index, indent=2) + "\n", encoding="utf-8")

    def _flush(self) -> None:
        if not self._held:
            return
        file = self._folder / f"part-{len(self._files) + 1:05d}.safetensors"
        mx.save_safetensors(str(file), self._held, metadata={"format": "mlx"})
        self._files.append((file, list(self._held)))
        self._held, self._held_bytes = {}, 0
        mx.clear_cache()
