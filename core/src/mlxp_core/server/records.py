"""Transcripts of all requests that were generated for, as files in a folder of limited size.

Nobody waits for the disk: files are written by a thread of their own, and when it cannot, the log says so once.
"""

import logging
import os
import re
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from mlxp_core.errors import SetupError
from mlxp_core.types import ServerSettings, Transcript

log = logging.getLogger("mlxp.server")

SUFFIX = ".transcript.json"
_ODD = re.compile(r"[^A-Za-z0-9_-]+")


class Records:
    """The folder. Its methods may be called from any thread."""

    def __init__(self, folder: Path, limit_bytes: int) -> None:
        """Take a folder into use.

        Args:
            folder: made if absent, for its owner alone.
            limit_bytes: most bytes of transcripts; the oldest ones go.

        Raises:
            SetupError: it cannot be written.
        """
        self._folder = folder.expanduser()
        self._limit_bytes = limit_bytes
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            found = sorted(self._folder.glob(f"*{SUFFIX}"))
            self._files = deque((path, path.stat().st_size) for path in found)
        except OSError as error:
            raise SetupError(f"[server] records: {self._folder} cannot be used: {error.strerror}") from error
        self._nbytes = sum(size for _, size in self._files)
        self._failed = False
        self._writer = ThreadPoolExecutor(1, "mlxp-records")

    def keep(self, make: Callable[[], Transcript]) -> None:
        """Write a transcript, which is made on the writing thread."""
        self._writer.submit(self._write, make)

    def close(self) -> None:
        """Write what is left. Blocks."""
        self._writer.shutdown()

    def _write(self, make: Callable[[], Transcript]) -> None:
        try:
            self._put(make())
            self._failed = False
        except Exception as error:  # noqa: BLE001  # what fails here costs a record, nothing else
            if not self._failed:
                log.warning("a transcript was not written to %s: %r", self._folder, error)
            self._failed = True

    def _put(self, told: Transcript) -> None:
        data = msgspec.json.format(msgspec.json.encode(told))
        if len(data) > self._limit_bytes:
            log.info("the transcript of %s is larger than records_bytes, and not kept", told.id)
            return
        while self._nbytes + len(data) > self._limit_bytes:
            path, size = self._files.popleft()
            path.unlink(missing_ok=True)
            self._nbytes -= size
        path = self._folder / name_of(told)
        fresh = path.with_name(f".{path.name}.new")
        try:
            with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
                file.write(data)
            fresh.replace(path)
        except OSError:
            fresh.unlink(missing_ok=True)
            raise
        self._files.append((path, len(data)))
        self._nbytes += len(data)


def name_of(told: Transcript) -> str:
    """Return the name of its file: when it came, and its id; names sort by time."""
    at = datetime.fromtimestamp(told.at_s, UTC)
    return f"{at:%Y%m%dT%H%M%S}.{at.microsecond:06}Z-{_ODD.sub('_', told.id)[:100]}{SUFFIX}"


def open_records(settings: ServerSettings) -> Records | None:
    """Return the folder that the settings name; ``None`` = they name none.

    Raises:
        SetupError: it cannot be written.
    """
    return None if settings.records is None else Records(settings.records, settings.records_bytes)
