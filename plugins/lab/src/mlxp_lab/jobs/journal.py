"""The file of a job's events: written by whoever has something to say, read from any place on.

A line is written at once and at the end, so several processes may write. One that is killed in the middle of a line
leaves half of it; the next writer ends it, and readers pass over it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from mlxp_lab.jobs.events import Event, decode, encode

NAME = "events.ndjson"
_CHUNK = 64 * 1024


class Journal:
    """One job's events."""

    def __init__(self, folder: Path) -> None:
        """Stand for the journal in the folder of a job; nothing is opened."""
        self.path = folder / NAME

    def write(self, *events: Event) -> None:
        """Write events; may be called from any thread and any process."""
        text = b"".join(encode(event) + b"\n" for event in events)
        handle = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            size = os.fstat(handle).st_size
            if size and os.pread(handle, 1, size - 1) != b"\n":
                text = b"\n" + text
            os.write(handle, text)
        finally:
            os.close(handle)

    def read(self, start: int = 0) -> Iterator[tuple[Event, int]]:
        """Yield each complete event from byte ``start`` on, with the place behind it."""
        try:
            file = self.path.open("rb")
        except FileNotFoundError:
            return
        with file:
            place = _line_start(file.seek(0, os.SEEK_END), start)
            file.seek(place)
            while (line := file.readline()).endswith(b"\n"):
                place += len(line)
                event = decode(line)
                if event is not None:
                    yield event, place

    def events(self) -> list[Event]:
        """Return all events."""
        return [event for event, _ in self.read()]


def tail(path: Path, lines: int) -> list[str]:
    """Return the last lines of a text file, or none where there is no file."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _CHUNK))
            return file.read().decode("utf-8", "replace").splitlines()[-lines:]
    except FileNotFoundError:
        return []


def _line_start(size: int, start: int) -> int:
    """Return where to begin; a place that is not in the file is one of an older file, and all is told again."""
    return start if 0 <= start <= size else 0
