"""Every job, and who is in the house: the one place where states change.

Its laws:

- A state changes only from what it was: every change names the attempt it is about, and fails if that is over.
- One job at a time has the device; the transaction that starts one looks whether another has it.
- Whoever finds the process of a live job gone may bury it. Only one does: the others' change is about no row.
"""

from __future__ import annotations

import secrets
import sqlite3
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from mlxp_lab.jobs import schema
from mlxp_lab.jobs.database import Database
from mlxp_lab.jobs.kind import Chat, Device
from mlxp_lab.jobs.record import Job, State, Whose

FILE = "lab.sqlite"
_COLUMNS = (
    "id, kind, title, state, device, chat, parameters, attempt, progress, stage, message, left_s, paused, output, "
    "result, error, created_at, started_at, ended_at, seen_at, cancel_at, retry_of, host, pid, process_s"
)


class NewJob(Struct, frozen=True, kw_only=True):
    """What a job begins as."""

    kind: str
    title: str
    device: Device
    chat: Chat
    parameters: dict[str, Any]
    retry_of: str | None = None


class Ending(Struct, frozen=True, kw_only=True):
    """How a job ends."""

    state: State
    error: str | None = None
    result: dict[str, Any] | None = None
    output: str | None = None


class Store:
    """The jobs of one lab; may be used from any thread."""

    def __init__(self, folder: Path, now: Callable[[], float] = time.time) -> None:
        """Open the store in the lab's folder; ``now`` returns seconds since 1970."""
        self.folder = folder
        self._database = Database(folder / FILE, schema.TABLES)
        self._now = now

    @staticmethod
    def exists(folder: Path) -> bool:
        """Say whether there is a store, so that nobody makes one by asking."""
        return (folder / FILE).is_file()

    def place_of(self, job_id: str) -> Path:
        """Return the folder of a job."""
        return self.folder / "jobs" / job_id

    def now_ms(self) -> int:
        """Return the time in milliseconds since 1970."""
        return round(self._now() * 1000)

    def close(self) -> None:
        """Close the store."""
        self._database.close()

    # ── Look ────────────────────────────────────────────────────────────────────────────────────────────────────

    def get(self, job_id: str) -> Job | None:
        """Return a job."""
        found = self._jobs("WHERE id = ?", (job_id,))
        return found[0] if found else None

    def newest(self, limit: int = 50, kind: str | None = None) -> list[Job]:
        """Return the newest jobs, newest first."""
        where, values = ("WHERE kind = ? ", (kind,)) if kind else ("", ())
        return self._jobs(f"{where}ORDER BY created_at DESC, rowid DESC LIMIT ?", (*values, limit))

    def live(self) -> list[Job]:
        """Return the jobs that have a process, or are getting one."""
        return self._jobs("WHERE state IN ('starting', 'running') ORDER BY created_at, rowid")

    def queued(self) -> list[Job]:
        """Return the jobs that wait for their turn, the first one first."""
        return self._jobs("WHERE state = 'queued' ORDER BY created_at, rowid")

    def ended(self) -> list[Job]:
        """Return the jobs that have ended, the last one first."""
        return self._jobs("WHERE state IN ('done', 'failed', 'cancelled') ORDER BY ended_at DESC")

    # ── Ask ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def add(self, new: NewJob) -> Job:
        """Keep a new job, and make its folder."""
        job_id = f"job_{secrets.token_hex(8)}"
        self.place_of(job_id).mkdir(parents=True, mode=0o700)
        self._database.change(
            "INSERT INTO jobs (id, kind, title, state, device, chat, parameters, created_at, retry_of) "
            "VALUES (?, ?, ?, 'queued', ?, ?, ?, ?, ?)",
            (
                job_id,
                new.kind,
                new.title,
                new.device,
                new.chat,
                _json(new.parameters),
                self.now_ms(),
                new.retry_of,
            ),
        )
        return self._one(job_id)

    def ask_cancel(self, job_id: str) -> bool:
        """Note that a live job is to stop; false if it is not live."""
        return self._changed(
            "SET cancel_at = coalesce(cancel_at, ?) WHERE id = ? AND state IN ('starting', 'running')",
            (self.now_ms(), job_id),
        )

    def cancel_queued(self, job_id: str) -> bool:
        """End a job that has not begun; false if it has."""
        return self._changed(
            "SET state = 'cancelled', ended_at = ? WHERE id = ? AND state = 'queued'", (self.now_ms(), job_id)
        )

    def requeue(self, job_id: str) -> bool:
        """Let a job that ended badly wait for another turn; false if it did not."""
        return self._changed(
            "SET state = 'queued', error = NULL, ended_at = NULL, cancel_at = NULL, paused = 0, left_s = NULL "
            "WHERE id = ? AND state IN ('failed', 'cancelled')",
            (job_id,),
        )

    def remove(self, job_id: str) -> bool:
        """Forget a job that has ended; false if it has not."""
        query = "DELETE FROM jobs WHERE id = ? AND state IN ('done', 'failed', 'cancelled')"
        return self._database.change(query, (job_id,)) == 1

    # ── Run ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def claim(self, job_id: str, starter: Whose, *, cpu_jobs: int) -> Job | None:
        """Let a queued job be started by ``starter``; ``None`` if it is not queued, or others are in its way."""
        with self._database.writing():
            job = self.get(job_id)
            if job is None or job.state != "queued":
                return None
            beside = [other for other in self.live() if other.device == job.device]
            if len(beside) >= (1 if job.device == "gpu" else cpu_jobs):
                return None
            self._changed(
                "SET state = 'starting', attempt = attempt + 1, host = ?, pid = ?, process_s = ?, seen_at = ? "
                "WHERE id = ?",
                (starter.host, starter.pid, starter.started_s, self.now_ms(), job_id),
            )
            return self._one(job_id)

    def unclaim(self, job: Job) -> bool:
        """Let a job that nobody came to start wait again; false if it was started after all."""
        return self._changed(
            "SET state = 'queued', host = NULL, pid = NULL, process_s = NULL "
            "WHERE id = ? AND attempt = ? AND state = 'starting'",
            (job.id, job.attempt),
        )

    def begin(self, job_id: str, attempt: int, process: Whose) -> Job | None:
        """Note that a job runs in ``process``; ``None`` if that attempt is over."""
        now = self.now_ms()
        begun = self._changed(
            "SET state = 'running', host = ?, pid = ?, process_s = ?, seen_at = ?, started_at = ?, ended_at = NULL, "
            "progress = 0, stage = '', message = '', left_s = NULL, paused = 0 "
            "WHERE id = ? AND attempt = ? AND state = 'starting'",
            (process.host, process.pid, process.started_s, now, now, job_id, attempt),
        )
        return self._one(job_id) if begun else None

    def beat(self, job: Job) -> Job | None:
        """Note a sign of life, and return the job as it is; ``None`` if that attempt is over."""
        alive = self._changed(
            "SET seen_at = ? WHERE id = ? AND attempt = ? AND state = 'running'",
            (self.now_ms(), job.id, job.attempt),
        )
        return self._one(job.id) if alive else None

    def note(self, job: Job, **columns: float | str | None) -> bool:
        """Set columns of a running job: ``progress``, ``stage``, ``message``, ``left_s``, ``paused``, ``output``."""
        names = ", ".join(f"{name} = ?" for name in columns)
        return self._changed(
            f"SET {names} WHERE id = ? AND attempt = ? AND state = 'running'",
            (*columns.values(), job.id, job.attempt),
        )

    def end(self, job: Job, ending: Ending) -> bool:
        """End an attempt at a job; false if it has ended before."""
        return self._changed(
            "SET state = ?, error = ?, result = ?, output = coalesce(?, output), ended_at = ?, paused = 0, "
            "left_s = NULL, progress = CASE WHEN ? = 'done' THEN 1 ELSE progress END "
            "WHERE id = ? AND attempt = ? AND state IN ('starting', 'running')",
            (
                ending.state,
                ending.error,
                None if ending.result is None else _json(ending.result),
                ending.output,
                self.now_ms(),
                ending.state,
                job.id,
                job.attempt,
            ),
        )

    # ── Servers ─────────────────────────────────────────────────────────────────────────────────────────────────

    def announce(self, server: Whose, *, busy: bool) -> None:
        """Note that a server is there, and whether it answers somebody."""
        self._database.change(
            "INSERT INTO servers (host, pid, process_s, busy, seen_at) VALUES (?, ?, ?, ?, ?) "
            "ON CONFLICT (host, pid) DO UPDATE SET process_s = excluded.process_s, busy = excluded.busy, "
            "seen_at = excluded.seen_at",
            (server.host, server.pid, server.started_s, int(busy), self.now_ms()),
        )

    def depart(self, server: Whose) -> None:
        """Note that a server is gone."""
        self._database.change("DELETE FROM servers WHERE host = ? AND pid = ?", (server.host, server.pid))

    def busy_servers(self) -> list[tuple[Whose, int]]:
        """Return the servers that answer somebody, with their last sign of life in milliseconds since 1970."""
        rows = self._database.rows("SELECT host, pid, process_s, seen_at FROM servers WHERE busy = 1")
        return [(Whose(row["host"], row["pid"], row["process_s"]), row["seen_at"]) for row in rows]

    def _changed(self, change: str, values: Sequence[Any]) -> bool:
        return self._database.change(f"UPDATE jobs {change}", values) == 1  # ours, above

    def _jobs(self, where: str, values: Sequence[Any] = ()) -> list[Job]:
        query = f"SELECT {_COLUMNS} FROM jobs {where}"  # noqa: S608  # ours, above
        return [_job(row) for row in self._database.rows(query, values)]

    def _one(self, job_id: str) -> Job:
        (job,) = self._jobs("WHERE id = ?", (job_id,))
        return job


def _job(row: sqlite3.Row) -> Job:
    told = dict(row)
    host, pid, started_s = told.pop("host"), told.pop("pid"), told.pop("process_s")
    told["parameters"] = msgspec.json.decode(told["parameters"])
    told["result"] = None if told["result"] is None else msgspec.json.decode(told["result"])
    told["paused"] = bool(told["paused"])
    return Job(**told, whose=None if host is None else Whose(host, pid, started_s))


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()
