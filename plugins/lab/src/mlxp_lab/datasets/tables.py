"""Files of records, as others write them: JSON lines, a JSON list, CSV, Parquet; each record with where it stands."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Mapping
from pathlib import PurePath
from typing import Any, Literal

import msgspec
from msgspec import Struct

from mlxp_core.errors import BadRequest

Format = Literal["jsonl", "json", "csv", "parquet"]

SUFFIXES: Mapping[str, Format] = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
    ".csv": "csv",
    ".tsv": "csv",
    ".parquet": "parquet",
}

_BATCH = 1000


class Record(Struct, frozen=True, kw_only=True):
    """One record.

    Attributes:
        line: where it begins, counted from 1; of JSON lists and Parquet its number.
        values: by name.
        fault: what is wrong with it, in place of values.
    """

    line: int
    values: Mapping[str, Any] | None = None
    fault: str | None = None


def format_of(name: str) -> Format:
    """Return the format that a file's name tells.

    Raises:
        BadRequest: it tells none.
    """
    suffix = PurePath(name).suffix.lower()
    if suffix not in SUFFIXES:
        raise BadRequest(
            f"{name!r} does not tell its format; name it as one of {', '.join(SUFFIXES)}, or say which it is",
            param="format",
        )
    return SUFFIXES[suffix]


def records(content: bytes, kind: Format) -> Iterator[Record]:
    """Yield the records of a file.

    Args:
        content: the file.
        kind: its format.

    Raises:
        BadRequest: the file as a whole is not of that format, or what reads Parquet is not installed.
    """
    readers: Mapping[Format, Callable[[bytes], Iterator[Record]]] = {
        "jsonl": _json_lines,
        "json": _json_list,
        "csv": _table,
        "parquet": _parquet,
    }
    return readers[kind](content)


def _json_lines(content: bytes) -> Iterator[Record]:
    for number, line in enumerate(_unmarked(content).split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            yield Record(line=number, values=msgspec.json.decode(line, type=dict[str, Any]))
        except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
            yield Record(line=number, fault=f"it is no JSON object: {error}")


def _json_list(content: bytes) -> Iterator[Record]:
    try:
        found = msgspec.json.decode(_unmarked(content), type=list[Any])
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise BadRequest(f"the file is no JSON list: {error}") from error
    for number, value in enumerate(found, start=1):
        if isinstance(value, dict):
            yield Record(line=number, values=value)
        else:
            yield Record(line=number, fault="it is no JSON object")


def _table(content: bytes) -> Iterator[Record]:
    """Yield the records of a CSV with a line of names; tabs or semicolons may stand for commas."""
    try:
        text = _unmarked(content).decode()
    except UnicodeError as error:
        raise BadRequest(f"the file is not in UTF-8: {error}") from error
    csv.field_size_limit(max(csv.field_size_limit(), len(text) + 1))
    head = text.partition("\n")[0]
    comma = next((mark for mark in ",\t;" if mark in head), ",")
    lines = csv.reader(
        io.StringIO(text.replace("\r\n", "\n").replace("\r", "\n"), newline=""), delimiter=comma, strict=True
    )
    try:
        names = next(lines, [])
        if len(set(names)) < len(names) or not all(name.strip() for name in names):
            raise BadRequest("the first line must name each column, each by another name")
        start = lines.line_num + 1
        for values in lines:
            if values and len(values) != len(names):
                fault = f"it has {len(values)} values for {len(names)} columns"
                yield Record(line=start, fault=fault)
            elif values:
                yield Record(line=start, values=dict(zip(names, values, strict=True)))
            start = lines.line_num + 1
    except csv.Error as error:
        raise BadRequest(f"line {lines.line_num}: {error}") from error


def _parquet(content: bytes) -> Iterator[Record]:
    try:
        import pyarrow as pa  # noqa: PLC0415  # an extra; nothing else needs it
        import pyarrow.parquet as pq  # noqa: PLC0415  # as above
    except ImportError as error:
        raise BadRequest(
            "Parquet is read by pyarrow; install it with: pip install 'mlxp-lab[parquet]'"
        ) from error
    number = 0
    try:
        for batch in pq.ParquetFile(io.BytesIO(content)).iter_batches(_BATCH):
            for values in batch.to_pylist():
                number += 1
                yield Record(line=number, values=msgspec.to_builtins(values))
    except (pa.ArrowException, OSError) as error:
        raise BadRequest(f"the file is no Parquet that can be read: {error}") from error


def _unmarked(content: bytes) -> bytes:
    return content.removeprefix(b"\xef\xbb\xbf")
