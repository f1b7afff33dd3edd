"""What a running job is given: a way to say how it goes, and to learn that it should pause or stop."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from threading import Event, RLock

from mlxp_lab.jobs.events import LogEvent, MetricsEvent, ProgressEvent, StateEvent
from mlxp_lab.jobs.journal import Journal
from mlxp_lab.jobs.kind import Cancelled, Site
from mlxp_lab.jobs.making import Signature, making
from mlxp_lab.jobs.pace import Pace
from mlxp_lab.jobs.record import Job
from mlxp_lab.jobs.store import Store

_MOST_A_SECOND = 5.0
"""How often progress is written down; between, only a new stage is."""

_LOOK_S = 0.05


class Running:
    """The context of one run. The heart (``worker.py``) sets ``stop`` and ``pause``."""

    def __init__(
        self,
        job: Job,
        store: Store,
        site: Site,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Begin.

        Args:
            job: which has just begun.
            store: where it is kept.
            site: where it runs.
            clock: seconds that only grow.
        """
        self.id = job.id
        self.site = site
        self.folder = store.place_of(job.id) / "work"
        self.resuming = job.attempt > 1 and self.folder.is_dir()
        self.stop = Event()
        self.pause = Event()
        self._job = job
        self._store = store
        self._journal = Journal(store.place_of(job.id))
        self._clock = clock
        self._lock = RLock()
        self._pace = Pace()
        self._fraction = 0.0
        self._stage = ""
        self._wrote_s = -1.0
        self.folder.mkdir(parents=True, exist_ok=True)

    def progress(self, fraction: float, message: str = "", *, stage: str = "") -> None:
        """Say how far it is."""
        with self._lock:
            self._fraction = max(self._fraction, min(1.0, fraction))
            now_s = self._clock()
            left_s = self._pace.left_s(self._fraction, now_s)
            stage = stage or self._stage
            if (
                stage == self._stage
                and 0 <= now_s - self._wrote_s < 1 / _MOST_A_SECOND
                and self._fraction < 1
            ):
                return
            self._wrote_s, self._stage = now_s, stage
            self._store.note(self._job, progress=self._fraction, stage=stage, message=message, left_s=left_s)
            self._journal.write(
                ProgressEvent(
                    at=self._store.now_ms(),
                    fraction=self._fraction,
                    stage=stage,
                    message=message,
                    left_s=left_s,
                )
            )

    def metrics(self, step: int, **values: float) -> None:
        """Say what was measured at a step."""
        self._journal.write(MetricsEvent(at=self._store.now_ms(), step=step, values=values))

    def log(self, line: str) -> None:
        """Say something for the log."""
        self._journal.write(LogEvent(at=self._store.now_ms(), line=line))

    def breathe(self) -> None:
        """Give way to the server's answers; see ``JobContext``."""
        if self.pause.is_set() and not self.stop.is_set():
            began_s = self._clock()
            self._say_paused(paused=True)
            while self.pause.is_set() and not self.stop.is_set():
                self.stop.wait(_LOOK_S)
            self._say_paused(paused=False)
            with self._lock:
                self._pace.pause(self._clock() - began_s)
        if self.stop.is_set():
            raise Cancelled

    def making(self, place: Path, *, replace: bool = False) -> AbstractContextManager[Path]:
        """Make a folder that appears when it is complete; see ``JobContext``."""
        self._store.note(self._job, output=str(place))
        signature = Signature(job=self.id, kind=self._job.kind, attempt=self._job.attempt)
        return making(place, signature, replace=replace)

    def _say_paused(self, *, paused: bool) -> None:
        self._store.note(self._job, paused=int(paused))
        message = "the server is answering" if paused else ""
        self._journal.write(
            StateEvent(
                at=self._store.now_ms(),
                state="running",
                attempt=self._job.attempt,
                paused=paused,
                message=message,
            )
        )
