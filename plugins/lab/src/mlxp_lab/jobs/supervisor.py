"""What any process that looks after jobs does from time to time: bury the dead, kill the deaf, start who is next."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Lock

from mlxp_lab.jobs.journal import Journal, tail
from mlxp_lab.jobs.making import mend, signed
from mlxp_lab.jobs.process import found, is_gone, me
from mlxp_lab.jobs.record import Job
from mlxp_lab.jobs.store import Ending, Store
from mlxp_lab.jobs.worker import PATIENCE_S, tell

OUTPUT = "output.txt"
"""What the process of a job writes by itself, a crash of MLX included."""

COMMAND = "lab-worker"
_OWN_WAY_S = 3.0
"""How long, after its grace, a process may take to end itself before others kill it."""
_LAST_WORDS = 12


class Supervisor:
    """Looks after the jobs of a store. Several may, in several processes; may be used from any thread."""

    def __init__(
        self, store: Store, environment: Mapping[str, str], *, cpu_jobs: int, grace_s: float
    ) -> None:
        """Look after a store.

        Args:
            store: the jobs.
            environment: for the processes of jobs.
            cpu_jobs: how many jobs that need no device may run at the same time.
            grace_s: how long a job may take to stop.
        """
        self._store = store
        self._environment = dict(environment)
        self._cpu_jobs = cpu_jobs
        self._deaf_ms = (grace_s + _OWN_WAY_S) * 1000
        self._me = me()
        self._lock = Lock()
        self._children: dict[tuple[str, int], subprocess.Popen[bytes]] = {}

    def bury(self) -> None:
        """End the jobs whose processes are gone, and those that do not listen."""
        with self._lock:
            self._bury()

    def tend(self, only: str | None = None) -> None:
        """Do what is to be done now.

        Args:
            only: start no other job than this.
        """
        with self._lock:
            self._bury()
            for job in self._store.queued():
                if only in {None, job.id}:
                    self._start(job)

    def leave(self) -> None:
        """Look after nothing any more; the processes of jobs go on."""
        with self._lock:
            for child in self._children.values():
                if child.poll() is None:
                    child.returncode = 0  # it outlives us on purpose, and need not be warned of
            self._children.clear()

    def _bury(self) -> None:
        now = self._store.now_ms()
        for job in self._store.live():
            child = self._children.get((job.id, job.attempt))
            status = None if child is None else child.poll()
            silent_s = (now - (job.seen_at or 0)) / 1000
            if job.whose is not None and status is None and not is_gone(job.whose, silent_s, PATIENCE_S):
                if job.cancel_at is not None and now - job.cancel_at > self._deaf_ms:
                    _kill(job)
            elif job.state == "starting" and status is None:
                self._store.unclaim(job)
            else:
                self._end(job, status if child is None else child.wait())
        for key, child in list(self._children.items()):
            if child.poll() is not None:
                del self._children[key]

    def _end(self, job: Job, status: int | None) -> None:
        """End a job whose process is gone."""
        ending = _epitaph(job, status, self._store.place_of(job.id))
        if self._store.end(job, ending):
            tell(Journal(self._store.place_of(job.id)), self._store, ending, job.attempt)

    def _start(self, job: Job) -> None:
        claimed = self._store.claim(job.id, self._me, cpu_jobs=self._cpu_jobs)
        if claimed is None:
            return
        with (self._store.place_of(job.id) / OUTPUT).open("ab") as output:
            self._children[job.id, claimed.attempt] = subprocess.Popen(  # noqa: S603  # ourselves
                _command(self._store.folder, claimed),
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )


def _command(folder: Path, job: Job) -> Sequence[str]:
    return (sys.executable, "-m", "mlxp_core", COMMAND, str(folder), job.id, str(job.attempt))


def _epitaph(job: Job, status: int | None, folder: Path) -> Ending:
    """Say how a job has ended whose process could not say it."""
    if job.output:
        mend(Path(job.output), job.id)
    made = signed(Path(job.output)) if job.output else None
    if made is not None and (made.job, made.attempt) == (job.id, job.attempt):
        return Ending(state="done", result={"note": "its process ended before it could say more"})
    if job.cancel_at is not None:
        return Ending(state="cancelled")
    if status is None:
        why = "its process is gone without a word: it was killed, or the machine went down"
    elif status < 0:
        why = f"its process was ended by {signal.Signals(-status).name}"
    else:
        why = f"its process ended with status {status}"
    words = "\n".join(tail(folder / OUTPUT, _LAST_WORDS))
    return Ending(state="failed", error=f"{why}; its last words:\n{words}" if words else why)


def _kill(job: Job) -> None:
    """Kill the process of a job with all that it has started."""
    if job.whose is not None and job.state == "running" and found(job.whose) is not None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(job.whose.pid, signal.SIGKILL)
