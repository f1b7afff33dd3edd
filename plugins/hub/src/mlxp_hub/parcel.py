"""What is sent of a folder: a model, an adapter or a dataset, without what is of use on this machine alone."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

from msgspec import Struct

from mlxp_core.errors import SetupError

Kind = Literal["model", "adapter", "dataset"]
KINDS: tuple[Kind, ...] = ("model", "adapter", "dataset")

CARD = "README.md"
LEFT_OUT = frozenset({"mlxp_job.json", "dataset.json"})
"""Notes of this machine's own."""

_SHORT = 1 << 20
"""Longer files of JSON are data, not notes."""


class Parcel(Struct, frozen=True, kw_only=True):
    """What is sent.

    Attributes:
        folder: where it lies.
        files: paths in it, ``/`` between their parts, in order.
        size_bytes: of all of them.
    """

    kind: Kind
    folder: Path
    files: tuple[str, ...]
    size_bytes: int

    @property
    def has_card(self) -> bool:
        """Say whether its author has written a card."""
        return CARD in self.files


def packed(folder: Path) -> Parcel:
    """Return what is sent of a folder.

    Raises:
        SetupError: it is no model, no adapter and no dataset.
    """
    kind = kind_of(folder)
    if kind is None:
        raise SetupError(f"{folder} is no model, no adapter and no dataset, so there is nothing to push")
    files = tuple(sorted(_files(folder)))
    return Parcel(
        kind=kind,
        folder=folder,
        files=files,
        size_bytes=sum((folder / path).stat().st_size for path in files),
    )


def kind_of(folder: Path) -> Kind | None:
    """Return what a folder holds."""
    if (folder / "adapter_config.json").is_file():
        return "adapter"
    if (folder / "train.jsonl").is_file():
        return "dataset"
    if (folder / "config.json").is_file() and any(folder.glob("*.safetensors")):
        return "model"
    return None


def without_home(path: Path, home: Path) -> bytes | None:
    """Return a note of JSON with ``~`` for the user's folder; ``None`` where it does not name it.

    Args:
        path: the file.
        home: the user's folder.
    """
    if path.suffix != ".json" or path.stat().st_size > _SHORT:
        return None
    content = path.read_bytes()
    named = f"{home}/".encode()
    return content.replace(named, b"~/") if named in content else None


def _files(folder: Path) -> list[str]:
    found = []
    for place, inside, names in os.walk(folder):
        inside[:] = [name for name in inside if not name.startswith(".")]
        for name in names:
            path = Path(place) / name
            if not name.startswith(".") and name not in LEFT_OUT and path.is_file():
                found.append(path.relative_to(folder).as_posix())
    return found
