"""The downloads that a server runs in the background: started, shown, stopped.

Each runs on a thread of its own. The last few that have ended are remembered.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING, Literal

from msgspec import UNSET, Struct, UnsetType

from mlxp_core.errors import MlxpError
from mlxp_hub.refs import Ref

if TYPE_CHECKING:
    from mlxp_hub.remote import (
        Listing,
        RemoteFile,
    )  # brings huggingface_hub, which a start should not wait for

_log = logging.getLogger(__name__)

KEPT = 5
WINDOW_S = 5.0
"""How far back speed is measured."""


class DownloadCard(Struct, frozen=True, kw_only=True, rename="camel"):
    """How a download is.

    Attributes:
        current_file: the file that bytes came for last; null until some have.
        received_bytes: those that were here before are among them.
        bytes_per_sec: over the last few seconds.
        started_at, finished_at: milliseconds since 1970.
        error: why it ended, if not well.
    """

    repo_id: str
    revision: str
    state: Literal["active", "done", "error"]
    current_file: str | None
    received_bytes: int
    total_bytes: int
    files_done: int
    files_total: int
    bytes_per_sec: float
    started_at: int
    finished_at: int | None
    error: str | UnsetType = UNSET


class Tracked:
    """One download, and how far it is. A ``Watcher``; may be asked and told from any thread."""

    def __init__(self, ref: Ref, clock: Callable[[], float], now: Callable[[], float]) -> None:
        """Begin; ``clock`` returns seconds that only grow, ``now`` seconds since 1970."""
        self.ref = ref
        self.stop = Event()
        self._clock = clock
        self._now = now
        self._lock = Lock()
        self._files: tuple[RemoteFile, ...] = ()
        self._arrived = 0
        self._received = 0
        self._current: str | None = None
        self._recent: deque[tuple[float, int]] = deque()
        self._started_s = now()
        self._finished_s: float | None = None
        self._error: str | None = None

    @property
    def active(self) -> bool:
        """Say whether it has not ended."""
        return self._finished_s is None

    def planned(self, listing: Listing) -> None:
        """Note what will be fetched; equal files are fetched once."""
        with self._lock:
            self._files = tuple({file.digest: file for file in listing.files}.values())

    def found(self, file: RemoteFile, count: int) -> None:  # noqa: ARG002  # the signature of a watcher
        """Note bytes that were here before."""
        with self._lock:
            self._received += count

    def moved(self, file: RemoteFile, count: int) -> None:
        """Note bytes that came."""
        with self._lock:
            self._received += count
            self._current = file.path
            self._recent.append((self._clock(), count))

    def arrived(self, file: RemoteFile) -> None:  # noqa: ARG002  # the signature of a watcher
        """Note a file."""
        with self._lock:
            self._arrived += 1

    def end(self, error: str | None = None) -> None:
        """Note the end."""
        with self._lock:
            self._error = error
            self._finished_s = self._now()

    def card(self) -> DownloadCard:
        """Return how it is."""
        with self._lock:
            return DownloadCard(
                repo_id=self.ref.repo,
                revision=self.ref.revision,
                state="active" if self.active else "done" if self._error is None else "error",
                current_file=self._current,
                received_bytes=self._received,
                total_bytes=sum(file.size for file in self._files),
                files_done=self._arrived,
                files_total=len(self._files),
                bytes_per_sec=self._speed() if self.active else 0.0,
                started_at=round(self._started_s * 1000),
                finished_at=None if self._finished_s is None else round(self._finished_s * 1000),
                error=UNSET if self._error is None else self._error,
            )

    def _speed(self) -> float:
        now_s = self._clock()
        while self._recent and self._recent[0][0] < now_s - WINDOW_S:
            self._recent.popleft()
        return max(0.0, sum(count for _, count in self._recent) / WINDOW_S)


Fetch = Callable[[Ref, Tracked], Path]
"""Fetches a model, telling the second how it goes."""


class Tracker:
    """All downloads of one server."""

    def __init__(
        self,
        fetch: Fetch,
        *,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
    ) -> None:
        """Begin without any.

        Args:
            fetch: does the work.
            clock: seconds that only grow.
            now: seconds since 1970.
        """
        self._fetch = fetch
        self._clock = clock
        self._now = now
        self._lock = Lock()
        self._all: deque[tuple[Tracked, Thread]] = deque()

    def start(self, ref: Ref) -> DownloadCard:
        """Start a download, and return how it is; of one that is under way already, if it is."""
        with self._lock:
            for tracked, _ in self._all:
                if tracked.active and tracked.ref.repo == ref.repo:
                    return tracked.card()
            tracked = Tracked(ref, self._clock, self._now)
            thread = Thread(target=self._run, args=(tracked,), name=f"mlxp-hub {ref}", daemon=True)
            self._all.appendleft((tracked, thread))
            ended = [pair for pair in self._all if not pair[0].active]
            for pair in ended[KEPT - 1 :]:
                self._all.remove(pair)
            thread.start()
        return tracked.card()

    def cards(self) -> tuple[DownloadCard, ...]:
        """Return the newest ones, newest first."""
        with self._lock:
            return tuple(tracked.card() for tracked, _ in self._all)[:KEPT]

    def cancel(self, repo: str) -> bool:
        """Stop a model's download; false if there is none. What has come so far is kept."""
        with self._lock:
            meant = [tracked for tracked, _ in self._all if tracked.active and tracked.ref.repo == repo]
        for tracked in meant:
            tracked.stop.set()
        return bool(meant)

    def stop_all(self) -> None:
        """Stop every download."""
        with self._lock:
            for tracked, _ in self._all:
                tracked.stop.set()

    def join(self, timeout_s: float) -> bool:
        """Wait until no download is under way; false if that takes longer."""
        deadline_s = time.monotonic() + timeout_s
        with self._lock:
            threads = [thread for _, thread in self._all]
        for thread in threads:
            thread.join(max(0.0, deadline_s - time.monotonic()))
        return not any(thread.is_alive() for thread in threads)

    def _run(self, tracked: Tracked) -> None:
        from mlxp_hub.transfer import Stopped  # noqa: PLC0415  # with it comes an HTTP client

        try:
            path = self._fetch(tracked.ref, tracked)
        except Stopped:
            tracked.end("stopped; start it again to go on")
        except MlxpError as error:
            _log.warning("%s was not downloaded: %s", tracked.ref, error.message)
            tracked.end(error.message)
        else:
            _log.info("%s was downloaded to %s", tracked.ref, path)
            tracked.end()
