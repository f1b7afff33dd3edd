"""One file from the hub to the disk: resumed where it broke off, hashed as it comes, in place only when it is right.

What has come so far lies in ``<digest>.mlxp.incomplete`` beside the blobs, and is gone on with by the next transfer,
of this process or another. It is moved to ``<digest>`` when size and hash are those that the hub tells; before that
nobody else sees it.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from http import HTTPStatus
from pathlib import Path
from threading import Event
from typing import BinaryIO

import httpx2
from huggingface_hub.utils import get_session, hf_raise_for_status
from msgspec import Struct

from mlxp_hub.errors import HubError
from mlxp_hub.remote import RemoteFile
from mlxp_hub.watcher import Watcher

BLOCK = 1 << 20
PARTIAL = ".mlxp.incomplete"
PATIENCE = 5
"""Attempts in a row that bring nothing, before giving up."""

LONGEST_PAUSE_S = 16.0
TIMEOUT = httpx2.Timeout(30.0, connect=10.0)
PASSING = frozenset({408, 425, 429, 500, 502, 503, 504})
"""Statuses that may be others soon."""


class Stopped(Exception):
    """The transfer was asked to stop; what has come so far is kept."""


class Source(Struct, frozen=True, kw_only=True):
    """Where a file comes from."""

    url: str
    headers: dict[str, str]


class Transfer:
    """The fetching of one file."""

    def __init__(
        self,
        file: RemoteFile,
        source: Source,
        blobs: Path,
        watcher: Watcher,
        *,
        stop: Event,
        pause: Callable[[float], object] | None = None,
    ) -> None:
        """Know what to fetch; nothing is done yet.

        Args:
            file: what the hub tells of it.
            source: where it comes from.
            blobs: where it goes.
            watcher: told how it goes, but for the arrival.
            stop: once it is set, the transfer ends with ``Stopped``.
            pause: waits so many seconds before another attempt; ends early when ``stop`` is set.
        """
        self._file = file
        self._source = source
        self._blob = blobs / file.digest
        self._partial = blobs / f"{file.digest}{PARTIAL}"
        self._watcher = watcher
        self._stop = stop
        self._pause = pause or stop.wait
        self._size = 0
        self._hash = _hasher(file)

    def run(self, *, verify: bool = False) -> None:
        """Fetch the file, unless it is here.

        Args:
            verify: hash a file that is here, and fetch it again if it is damaged.

        Raises:
            HubError: it arrived damaged twice.
            Stopped: it was asked to.
            httpx2.HTTPError, HfHubHTTPError: the hub cannot be reached, or refuses.
        """
        if self._here(verify=verify):
            self._watcher.found(self._file, self._file.size)
            return
        self._blob.unlink(missing_ok=True)
        for _ in range(2):
            self._receive()
            if self._hash.hexdigest() == self._file.digest:
                self._partial.replace(self._blob)
                return
            self._partial.unlink()
            self._watcher.moved(self._file, -self._size)
        raise HubError(
            f"{self._file.path} arrived damaged twice: its {self._file.hashed} hash is {self._hash.hexdigest()}, "
            f"and the hub says {self._file.digest}; try again, through another network if there is one"
        )

    def _here(self, *, verify: bool) -> bool:
        if not self._blob.is_file() or self._blob.stat().st_size != self._file.size:
            return False
        if not verify:
            return True
        with self._blob.open("rb") as blob:
            self._read(blob)
        return self._hash.hexdigest() == self._file.digest

    def _receive(self) -> None:
        """Receive all of the file, in as many attempts as it takes."""
        with self._partial.open("a+b") as partial:
            self._take_up(partial)
            idle = 0
            while self._size < self._file.size:
                before = self._size
                fault = self._attempt(partial)
                idle = 0 if self._size > before else idle + 1
                if idle >= PATIENCE:
                    raise fault or HubError(f"the hub sends no more of {self._file.path}; try again later")
                if self._size < self._file.size:
                    self._pause(min(LONGEST_PAUSE_S, 2.0**idle))
                self._check_stop()
            partial.flush()
            os.fsync(partial.fileno())

    def _take_up(self, partial: BinaryIO) -> None:
        """Hash what is here already."""
        partial.seek(0, os.SEEK_END)
        if partial.tell() > self._file.size:
            partial.truncate(0)
        partial.seek(0)
        self._read(partial)
        self._watcher.found(self._file, self._size)

    def _read(self, file: BinaryIO) -> None:
        self._hash, self._size = _hasher(self._file), 0
        while block := file.read(BLOCK):
            self._check_stop()
            self._hash.update(block)
            self._size += len(block)

    def _attempt(self, partial: BinaryIO) -> httpx2.HTTPError | None:
        """Ask for what is missing, take what comes, and return what broke it off, if that may pass."""
        try:
            self._ask(partial)
        except (httpx2.TransportError, httpx2.HTTPStatusError) as fault:
            return fault
        return None

    def _ask(self, partial: BinaryIO) -> None:
        headers = dict(self._source.headers)
        if self._size:
            headers["range"] = f"bytes={self._size}-"
        with get_session().stream(
            "GET", self._source.url, headers=headers, follow_redirects=True, timeout=TIMEOUT
        ) as answer:
            if answer.status_code in PASSING:
                answer.raise_for_status()
            useless = answer.status_code == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE
            if not useless:
                hf_raise_for_status(answer)
            if self._size and (useless or not self._goes_on(answer)):
                self._watcher.moved(self._file, -self._size)
                partial.truncate(0)
                self._hash, self._size = _hasher(self._file), 0
            if not useless:
                self._take(answer, partial)

    def _goes_on(self, answer: httpx2.Response) -> bool:
        """Say whether an answer begins where we broke off, and not with the first byte."""
        place = answer.headers.get("content-range", "").removeprefix("bytes ").partition("-")[0]
        return answer.status_code == HTTPStatus.PARTIAL_CONTENT and place == str(self._size)

    def _take(self, answer: httpx2.Response, partial: BinaryIO) -> None:
        for block in answer.iter_bytes():  # as it comes: what is gathered is lost when the line breaks
            self._check_stop()
            kept = block[: self._file.size - self._size]
            partial.write(kept)
            self._hash.update(kept)
            self._size += len(kept)
            self._watcher.moved(self._file, len(kept))

    def _check_stop(self) -> None:
        if self._stop.is_set():
            raise Stopped


def _hasher(file: RemoteFile) -> hashlib._Hash:
    if file.hashed == "sha256":
        return hashlib.sha256()
    return hashlib.sha1(b"blob %d\0" % file.size, usedforsecurity=False)  # as git names its blobs
