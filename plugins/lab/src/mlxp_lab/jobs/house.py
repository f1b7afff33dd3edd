"""The server's side of the lab: it says when it answers somebody, holds answers off for jobs, and tends jobs."""

from __future__ import annotations

import logging
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from threading import Event, Thread

from mlxp_core.contracts import Services
from mlxp_core.types import EngineStats
from mlxp_lab.jobs.process import me
from mlxp_lab.jobs.record import Job
from mlxp_lab.jobs.store import Store
from mlxp_lab.jobs.supervisor import Supervisor

LOOK_S = 0.1
TEND_S = 0.5
ANNOUNCE_S = 3.0
LINGER_S = 0.5
"""How long after its last answer a server still counts as busy: conversations and agents come back at once."""

_log = logging.getLogger("mlxp_lab")


class House:
    """A thread of a server that looks after the lab. Makes no lab where there is none."""

    def __init__(
        self,
        services: Services,
        folder: Path,
        make: Callable[[], Supervisor],
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Begin without a thread.

        Args:
            services: the server.
            folder: the lab's.
            make: makes what looks after jobs.
            clock: seconds that only grow.
        """
        self._services = services
        self._folder = folder
        self._make = make
        self._clock = clock
        self._stop = Event()
        self._wake = Event()
        self._busy: bool | None = None
        self._busy_s = -LINGER_S
        self._told_s = 0.0
        self._thread = Thread(target=self._live, name="mlxp-lab", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def wake(self) -> None:
        """Look after jobs now: there is a new one."""
        self._wake.set()

    def stop(self) -> None:
        """End the thread; jobs go on."""
        self._stop.set()
        self._wake.set()
        self._thread.join()

    def _live(self) -> None:
        while not self._stop.is_set() and not Store.exists(self._folder):
            self._wake.wait(1.0)
            self._wake.clear()
        if self._stop.is_set():
            return
        store, supervisor, whose = Store(self._folder), self._make(), me()
        due_s = 0.0
        try:
            while not self._stop.is_set():
                self._announce(store)
                if self._clock() >= due_s or self._wake.is_set():
                    self._wake.clear()
                    supervisor.tend()
                    self._services.hold(_hold(store.live()))
                    due_s = self._clock() + TEND_S
                self._wake.wait(LOOK_S)
        except (OSError, sqlite3.Error):
            _log.exception("jobs are not looked after any more; restart the server")
        finally:
            self._services.hold(None)
            supervisor.leave()
            store.depart(whose)
            store.close()

    def _announce(self, store: Store) -> None:
        """Say whether somebody is answered, when that changes and from time to time."""
        now_s = self._clock()
        if _answering(self._services.stats()):
            self._busy_s = now_s
        busy = now_s - self._busy_s < LINGER_S
        if busy != self._busy or now_s - self._told_s >= ANNOUNCE_S:
            store.announce(me(), busy=busy)
            self._busy, self._told_s = busy, now_s


def _answering(stats: EngineStats) -> bool:
    return stats.waiting + stats.prefilling + stats.running > 0


def _hold(live: list[Job]) -> str | None:
    """Return why answers wait, if they do."""
    job = next((job for job in live if job.device == "gpu" and job.chat == "waits"), None)
    if job is None:
        return None
    return (
        f"a job has the machine to itself ({job.kind}: {job.title}, {job.progress:.0%} done); try again later"
    )
