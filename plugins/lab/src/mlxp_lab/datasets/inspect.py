"""What a dataset is, line by line: rows that are none, rows to doubt, rows that are there twice."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from mlxp_lab.datasets.doubts import doubts, whole
from mlxp_lab.datasets.rows import Form, Row, form_of, lines_of
from mlxp_lab.datasets.shelf import Split, files_of

MOST = 100
"""How many remarks of a kind are kept for each file."""


class Remark(Struct, frozen=True):
    """Something to say of a line."""

    line: int
    message: str


class Lengths(Struct, frozen=True):
    """Characters of rows."""

    least: int
    median: int
    most: int


class SplitInspection(Struct, frozen=True, kw_only=True):
    """One file.

    Attributes:
        rows: good ones.
        faulty: lines that are no rows.
        faults: what is wrong with the first of them.
        doubtful: rows that can be learned from, but may not be what was meant.
        warnings: what is to be said of the first of them.
        duplicates: rows that say what an earlier one of the file says.
        characters: of a row; null where there is none.
    """

    split: Split
    form: Form | None
    rows: int
    faulty: int
    faults: tuple[Remark, ...]
    doubtful: int
    warnings: tuple[Remark, ...]
    duplicates: int
    characters: Lengths | None


class Inspection(Struct, frozen=True, kw_only=True):
    """A dataset.

    Attributes:
        form: of all rows; null where files differ, or there is none.
        shared: rows of ``valid`` and ``test`` that are in an earlier split, too, so that they measure memory.
        good: it can be learned from as it is.
    """

    form: Form | None
    splits: tuple[SplitInspection, ...]
    shared: int
    good: bool


def inspect(place: Path) -> Inspection:
    """Read a dataset, and say what it is.

    Args:
        place: its folder, or a file, which stands for ``train``.

    Raises:
        BadRequest: a file cannot be read.
    """
    seen: set[int] = set()
    shared = 0
    found = []
    for split, path in files_of(place).items():
        look = _Look()
        for number, row, fault in _told(path):
            look.at(number, row, fault)
        shared += len(look.keys & seen)
        seen |= look.keys
        found.append(look.told(split))
    forms = {each.form for each in found if each.form is not None}
    form = next(iter(forms)) if len(forms) == 1 else None
    return Inspection(
        form=form,
        splits=tuple(found),
        shared=shared,
        good=bool(form and found[0].rows) and not any(each.faulty for each in found),
    )


def _told(path: Path) -> Iterator[tuple[int, Row | None, str | None]]:
    return ((line.number, line.row, line.fault) for line in lines_of(path))


class _Look:
    """What one file has shown so far; rows are known by the hash of what they say."""

    def __init__(self) -> None:
        self.keys: set[int] = set()
        self._form: Form | None = None
        self._faults: list[Remark] = []
        self._warnings: list[Remark] = []
        self._faulty = self._doubtful = 0
        self._lengths: list[int] = []

    def at(self, number: int, row: Row | None, fault: str | None) -> None:
        """Take in a line."""
        if row is None:
            self._faulty += 1
            self._faults.append(Remark(number, fault or ""))
            del self._faults[MOST:]
            return
        self._form = self._form or form_of(row)
        text = whole(row)
        self.keys.add(hash(text))
        self._lengths.append(len(text))
        remarks = [Remark(number, doubt) for doubt in doubts(row)]
        self._doubtful += bool(remarks)
        self._warnings += remarks
        del self._warnings[MOST:]

    def told(self, split: Split) -> SplitInspection:
        """Say what the file is."""
        lengths = self._lengths
        return SplitInspection(
            split=split,
            form=self._form,
            rows=len(lengths),
            faulty=self._faulty,
            faults=tuple(self._faults),
            doubtful=self._doubtful,
            warnings=tuple(self._warnings),
            duplicates=len(lengths) - len(self.keys),
            characters=Lengths(min(lengths), round(statistics.median(lengths)), max(lengths))
            if lengths
            else None,
        )
