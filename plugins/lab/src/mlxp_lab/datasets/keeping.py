"""How a dataset is written: into a folder of its own beside its place, which is then moved there in one step."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from threading import RLock

import msgspec

from mlxp_core.errors import Conflict
from mlxp_lab.datasets.shelf import NOTE, SPLITS, Note, Origin, Split, note_of
from mlxp_lab.jobs import JobFailed
from mlxp_lab.jobs.making import Signature, making

changing = RLock()
"""Held by this process while datasets change, from reading what there is to writing what will be."""


def keep(place: Path, splits: Mapping[Split, Iterable[bytes]], origin: Origin, *, replace: bool) -> None:
    """Write a dataset.

    Args:
        place: where it will be.
        splits: lines of each file, without their ends; a split without lines gets no file.
        origin: where it comes from.
        replace: whether one that is there may be replaced.

    Raises:
        Conflict: one is there that may not be replaced.
    """
    try:
        with (
            changing,
            making(place, Signature(job="dataset", kind="dataset", attempt=1), replace=replace) as fresh,
        ):
            write(fresh, splits, origin)
    except JobFailed as error:
        raise Conflict(error.message, param="name") from error


def write(
    folder: Path,
    splits: Mapping[Split, Iterable[bytes]],
    origin: Origin,
    now: Callable[[], float] = time.time,
) -> None:
    """Write the files of a dataset into a folder; ``now`` returns seconds since 1970."""
    for split in SPLITS:
        lines = list(splits.get(split, ()))
        if lines or split == "train":
            (folder / f"{split}.jsonl").write_bytes(b"".join(line + b"\n" for line in lines))
    (folder / NOTE).write_bytes(msgspec.json.encode(Note(origin=origin, made_at=round(now() * 1000))))


def rekeep(place: Path, splits: Mapping[Split, Iterable[bytes]]) -> None:
    """Put other lines in the place of all those of a dataset; where it comes from stays."""
    keep(place, splits, note_of(place).origin, replace=True)
