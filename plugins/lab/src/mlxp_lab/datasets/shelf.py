"""Datasets on disk: a folder each, with the files that fine-tuning reads and a card that says where it comes from."""

from __future__ import annotations

import functools
import re
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from mlxp_core.errors import BadRequest, Conflict, NotFound
from mlxp_lab.datasets.rows import Form, form_of, lines_of, raw_lines
from mlxp_lab.jobs import BadParameters

Split = Literal["train", "valid", "test"]
SPLITS: tuple[Split, ...] = ("train", "valid", "test")
NOTE = "dataset.json"

_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,94}[A-Za-z0-9_-])?")


class Origin(Struct, frozen=True, kw_only=True):
    """Where a dataset comes from.

    Attributes:
        kind: how it came to be.
        source: the file it was imported from, or the model that wrote it.
        template: by which it was made.
        seed: likewise.
    """

    kind: Literal["import", "generate", "unknown"] = "unknown"
    source: str = ""
    template: str = ""
    seed: int | None = None


class Note(Struct, frozen=True, kw_only=True):
    """What lies beside the rows of a dataset that was made here.

    Attributes:
        origin: where it comes from.
        made_at: milliseconds since 1970.
    """

    origin: Origin = Origin()
    made_at: int = 0


class Card(Struct, frozen=True, kw_only=True):
    """A dataset at a glance.

    Attributes:
        form: of its rows; null where none is good.
        splits: lines of each file, blank ones left out.
        size_bytes: of the files.
        made_at: milliseconds since 1970.
    """

    name: str
    form: Form | None
    splits: dict[Split, int]
    size_bytes: int
    made_at: int
    origin: Origin


class Shelf:
    """The datasets of one lab."""

    def __init__(self, folder: Path) -> None:
        """Know where they are; the folder need not exist."""
        self.folder = folder

    def place_of(self, name: str) -> Path:
        """Return where a dataset is, or would be.

        Raises:
            BadParameters: the name is none.
        """
        if not _NAME.fullmatch(name):
            raise BadParameters(
                f"{name!r} cannot name a dataset: letters, digits, dots, hyphens and underscores, at most 96",
                param="name",
            )
        return self.folder / name

    def get(self, name: str) -> Path:
        """Return the folder of a dataset.

        Raises:
            NotFound: there is no such dataset.
        """
        if not _NAME.fullmatch(name) or not has_rows(self.folder / name):
            raise NotFound(f"there is no dataset {name!r}", param="name")
        return self.folder / name

    def find(self, ref: str) -> Path:
        """Return what is meant by a dataset's name, a folder, or a file of JSON lines.

        Raises:
            BadParameters: it is none of them.
        """
        if _NAME.fullmatch(ref) and has_rows(self.folder / ref):
            return self.folder / ref
        if (path := _there(ref)) is not None:
            return path
        raise BadParameters(
            f"{ref!r} is no dataset, no file, and no folder with a train.jsonl; see: mlxp dataset list",
            param="data",
        )

    def free(self, name: str, *, replace: bool) -> Path:
        """Return the place of a dataset that is to be made.

        Raises:
            BadParameters: the name is none.
            Conflict: it is there, and may not be replaced.
        """
        place = self.place_of(name)
        if place.exists() and not replace:
            raise Conflict(f"there is a dataset {name!r}; choose another name, or replace it", param="name")
        return place

    def cards(self) -> list[Card]:
        """Return the cards of all datasets, newest first."""
        found = []
        for path in self._folders():
            with suppress(NotFound):  # it has just gone, or is being replaced
                found.append(card_of(path))
        return sorted(found, key=lambda card: (-card.made_at, card.name))

    def remove(self, name: str) -> None:
        """Remove a dataset.

        Raises:
            NotFound: there is no such dataset.
        """
        shutil.rmtree(self.get(name))

    def _folders(self) -> Iterator[Path]:
        return (path for path in self.folder.glob("*") if _NAME.fullmatch(path.name))


def _there(ref: str) -> Path | None:
    """Return the dataset at a path."""
    try:
        path = Path(ref).expanduser().resolve()
        return path if ref and (path.is_file() or has_rows(path)) else None
    except (OSError, RuntimeError, ValueError):  # too long, no such user, a character 0
        return None


def split_file(place: Path, split: Split) -> Path | None:
    """Return the file of a split; a dataset that is a file has ``train`` alone."""
    if place.is_file():
        return place if split == "train" else None
    path = place / f"{split}.jsonl"
    return path if path.is_file() else None


def files_of(place: Path) -> dict[Split, Path]:
    """Return the files of a dataset."""
    return {split: path for split in SPLITS if (path := split_file(place, split)) is not None}


def has_rows(place: Path) -> bool:
    """Say whether a folder is a dataset."""
    return (place / "train.jsonl").is_file()


def card_of(place: Path) -> Card:
    """Return the card of a dataset, as its files are now.

    Raises:
        NotFound: there is none, or a file cannot be read.
    """
    files, note = files_of(place), note_of(place)
    try:
        seen = {split: path.stat() for split, path in files.items()}
        glances = {
            split: _glance(path, seen[split].st_ino, seen[split].st_mtime_ns, seen[split].st_size)
            for split, path in files.items()
        }
    except (BadRequest, OSError) as error:
        raise NotFound(f"the dataset {place.name!r} cannot be read: {error}", param="name") from error
    if "train" not in files:
        raise NotFound(f"there is no dataset {place.name!r}", param="name")
    return Card(
        name=place.name,
        form=next((glance.form for glance in glances.values() if glance.form is not None), None),
        splits={split: glance.lines for split, glance in glances.items()},
        size_bytes=sum(each.st_size for each in seen.values()),
        made_at=note.made_at or max(each.st_mtime_ns // 10**6 for each in seen.values()),
        origin=note.origin,
    )


class _Glance(Struct, frozen=True):
    """What a file is at a glance: lines that are not blank, and the form of the first good one."""

    lines: int
    form: Form | None


@functools.lru_cache(maxsize=1000)
def _glance(path: Path, *_: int) -> _Glance:
    """Look at a file; the numbers tell one from another that comes in its place."""
    form = next((form_of(line.row) for line in lines_of(path) if line.row is not None), None)
    return _Glance(sum(1 for _ in raw_lines(path)), form)


def note_of(place: Path) -> Note:
    """Return what is noted of a dataset; of one that was made elsewhere nothing is known."""
    try:
        return msgspec.json.decode((place / NOTE).read_bytes(), type=Note)
    except (OSError, msgspec.MsgspecError):
        return Note()
