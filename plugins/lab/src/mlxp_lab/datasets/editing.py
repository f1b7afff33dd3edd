"""Rows of a file, a page at a time, and edits of them, which all happen or none."""

from __future__ import annotations

import itertools
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from mlxp_core.errors import BadRequest, Conflict
from mlxp_lab.datasets.keeping import changing
from mlxp_lab.datasets.rows import BadRow, lines_of, raw_lines, read_row
from mlxp_lab.jobs import BadParameters


class RowCard(Struct, frozen=True, kw_only=True):
    """One line.

    Attributes:
        line: its number in the file, counted from 1.
        row: the object as it stands there; null where it is none.
        text: the line, where it is no object.
        fault: what is wrong with it; null = nothing.
    """

    line: int
    row: dict[str, Any] | None
    text: str | None
    fault: str | None


class RowPage(Struct, frozen=True, kw_only=True):
    """Some lines of a file.

    Attributes:
        total: lines of the file, blank ones left out.
        version: of the file, to be named by edits.
    """

    rows: tuple[RowCard, ...]
    total: int
    version: str


class Edit(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One change.

    Attributes:
        line: number of the line that is meant; null = a new one at the end.
        row: what it will be; null = it goes.
    """

    line: int | None = None
    row: dict[str, Any] | None = None


class Edited(Struct, frozen=True, kw_only=True):
    """A file after edits; numbers of lines may be others now."""

    version: str
    total: int


def page(path: Path, offset: int, limit: int) -> RowPage:
    """Return ``limit`` lines of a file behind the first ``offset`` ones.

    Raises:
        BadRequest: the file cannot be read.
    """
    version = version_of(path)
    shown = itertools.islice(lines_of(path), offset, offset + limit)
    rows = tuple(_card(line.number, line.raw, line.fault) for line in shown)
    return RowPage(rows=rows, total=sum(1 for _ in raw_lines(path)), version=version)


def edit(path: Path, version: str, edits: Sequence[Edit]) -> Edited:
    """Change a file; all edits happen, or none.

    Args:
        path: the file.
        version: that the edits were made on.
        edits: each names a line by its number before any of them.

    Raises:
        Conflict: the file has changed since.
        BadParameters: there is no such line, or what it would be is no row.
    """
    with changing:
        if version_of(path) != version:
            raise Conflict("the rows have changed meanwhile; look at them again", param="version")
        lines = dict(raw_lines(path))
        new = []
        for number, change in enumerate(edits):
            wanted = None if change.row is None else _checked(change.row, number)
            if change.line is None and wanted is not None:
                new.append(wanted)
            elif change.line is None or change.line not in lines:
                raise BadParameters(f"there is no line {change.line}", param=f"edits[{number}].line")
            elif wanted is None:
                del lines[change.line]
            else:
                lines[change.line] = wanted
        _rewrite(path, [*lines.values(), *new])
        return Edited(version=version_of(path), total=len(lines) + len(new))


def version_of(path: Path) -> str:
    """Return a word that is another one when the file is another one.

    Raises:
        BadRequest: the file cannot be read.
    """
    try:
        told = path.stat()
    except OSError as error:
        raise BadRequest(f"{path.name} cannot be read: {error.strerror or error}") from error
    return f"{told.st_ino:x}-{told.st_mtime_ns:x}-{told.st_size:x}"


def _card(number: int, raw: bytes, fault: str | None) -> RowCard:
    try:
        row = msgspec.json.decode(raw, type=dict[str, Any])
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return RowCard(line=number, row=None, text=raw.decode("utf-8", "replace"), fault=fault)
    return RowCard(line=number, row=row, text=None, fault=fault)


def _checked(row: dict[str, Any], number: int) -> bytes:
    line = msgspec.json.encode(row)
    try:
        read_row(line)
    except BadRow as error:
        raise BadParameters(f"edits[{number}].row: {error.message}", param=f"edits[{number}].row") from error
    return line


def _rewrite(path: Path, lines: Sequence[bytes]) -> None:
    """Put other lines in the place of a file's, in one step."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(b"".join(line + b"\n" for line in lines))
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(path.stat().st_mode & 0o777)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
