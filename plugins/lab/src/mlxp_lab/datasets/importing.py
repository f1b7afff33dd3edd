"""A file of others becomes a dataset; every line that is no row is named."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec
from msgspec import Struct

from mlxp_core.errors import BadRequest
from mlxp_lab.datasets.bodies import ImportRequest
from mlxp_lab.datasets.convert import FIELDS, Columns, as_row
from mlxp_lab.datasets.doubts import whole
from mlxp_lab.datasets.keeping import keep
from mlxp_lab.datasets.rows import MOST_TOLD, BadRow, Form, form_of, read_row
from mlxp_lab.datasets.shelf import Card, Origin, Shelf, card_of
from mlxp_lab.datasets.splitting import lines_dealt
from mlxp_lab.datasets.tables import Format, Record, format_of, records
from mlxp_lab.jobs import BadParameters


class Imported(Struct, frozen=True):
    """Lines of rows, and what was said of the records that became none."""

    lines: tuple[bytes, ...]
    faults: tuple[tuple[int, str], ...]


def imported(content: bytes, kind: Format, columns: Columns) -> Imported:
    """Return the rows of a file.

    Args:
        content: the file.
        kind: its format.
        columns: where fields of rows come from; none = the records are rows, or of a shape that is known.

    Raises:
        BadRequest: the file as a whole is not of that format.
        BadParameters: there are no such fields.
    """
    unknown = sorted(set(columns) - set(FIELDS))
    if unknown:
        raise BadParameters(f"{', '.join(unknown)}: fields are {', '.join(FIELDS)}", param="columns")
    lines, faults = [], []
    for number, line, fault in _tried(records(content, kind), columns):
        if line is None:
            faults.append((number, fault))
        else:
            lines.append(line)
    return Imported(tuple(lines), tuple(faults))


def import_into(shelf: Shelf, content: bytes, asked: ImportRequest) -> Card:
    """Make a dataset of a file, and return its card.

    Raises:
        BadRequest: it is of another format, or a record is no row; names the first ones.
        Conflict: there is a dataset of that name.
    """
    place = shelf.free(asked.name, replace=asked.replace)
    kind = asked.format or format_of(asked.source)
    lines = required(imported(content, kind, asked.columns), skip_faulty=asked.skip_faulty)
    texts = [whole(read_row(line)) for line in lines]
    dealt = lines_dealt(lines, texts, valid=asked.valid, test=asked.test, seed=asked.seed)
    keep(place, dealt, Origin(kind="import", source=asked.source), replace=asked.replace)
    return card_of(place)


def required(found: Imported, *, skip_faulty: bool) -> tuple[bytes, ...]:
    """Return the lines of what was imported.

    Args:
        found: the lines, and the faults.
        skip_faulty: whether records that became no rows may be left out.

    Raises:
        BadRequest: there are faults and they may not, or there is no row.
    """
    told = [f"line {number}: {fault}" for number, fault in found.faults[:MOST_TOLD]]
    more = len(found.faults) - len(told)
    said = "; ".join(told) + (f" (and {more} more)" if more else "")
    if found.faults and not skip_faulty:
        raise BadRequest(f"{said}. Nothing was imported; mend the file, or leave such lines out")
    if not found.lines:
        raise BadRequest(f"the file has no rows{': ' if said else ''}{said}")
    return found.lines


def _tried(found: Iterable[Record], columns: Columns) -> Iterator[tuple[int, bytes | None, str]]:
    form: Form | None = None
    for record in found:
        if record.values is None:
            yield record.line, None, record.fault or ""
            continue
        try:
            line = msgspec.json.encode(as_row(record.values, columns))
            row = read_row(line)
        except BadRow as error:
            yield record.line, None, error.message
            continue
        form = form or form_of(row)
        fault = "" if form_of(row) == form else f"it is a {form_of(row)} row among {form} rows"
        yield record.line, None if fault else line, fault


def read_file(path: Path) -> bytes:
    """Return what a file holds.

    Raises:
        BadRequest: it cannot be read.
    """
    try:
        return path.read_bytes()
    except OSError as error:
        raise BadRequest(f"{path} cannot be read: {error.strerror or error}") from error
