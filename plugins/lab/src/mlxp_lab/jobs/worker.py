"""The process of a job: runs it on the main thread, while a second one, the heart, shows that it lives."""

from __future__ import annotations

import logging
import os
import signal
import sqlite3
import sys
import traceback
from collections.abc import Callable
from threading import Event, Thread
from types import FrameType
from typing import Any

import msgspec

from mlxp_core.errors import MlxpError
from mlxp_lab.jobs.context import Running
from mlxp_lab.jobs.events import ResultEvent, StateEvent
from mlxp_lab.jobs.journal import Journal
from mlxp_lab.jobs.kind import Cancelled, JobResult, Site
from mlxp_lab.jobs.kinds import Kinds, kind_named
from mlxp_lab.jobs.parameters import read_parameters
from mlxp_lab.jobs.process import is_gone, me
from mlxp_lab.jobs.record import Job
from mlxp_lab.jobs.store import Ending, Store

PATIENCE_S = 30.0
"""After how long a silent process that cannot be looked up is taken for gone."""

BEAT_S = 0.2
OVER = 3
"""Exit status of a process whose attempt is over: it must not say anything more about the job."""

_log = logging.getLogger("mlxp_lab")


def work(
    job_id: str, attempt: int, store: Store, site: Site, kinds: Callable[[], Kinds], *, grace_s: float
) -> int:
    """Run an attempt at a job to its end, and return the exit status: 0 = done.

    Args:
        job_id: which job.
        attempt: which of its attempts.
        store: where it is kept.
        site: where it runs.
        kinds: asks plugins what they bring.
        grace_s: how long the job may go on after it was told to stop.
    """
    job = store.begin(job_id, attempt, me())
    if job is None:
        _log.error("%s: attempt %d is over", job_id, attempt)
        return OVER
    journal = Journal(store.place_of(job_id))
    journal.write(StateEvent(at=store.now_ms(), state="running", attempt=attempt))
    running = Running(job, store, site)
    signal.signal(signal.SIGTERM, _stopper(running.stop))
    ended = Event()
    heart = Thread(
        target=_beat, args=(job, store, running, ended, grace_s), name="mlxp-lab-heart", daemon=True
    )
    heart.start()
    ending = _outcome(job, running, kinds)
    ended.set()
    heart.join()
    if not store.end(job, ending):
        return OVER
    tell(journal, store, ending, attempt)
    return 0 if ending.state == "done" else 1


def tell(journal: Journal, store: Store, ending: Ending, attempt: int) -> None:
    """Write down how a job has ended."""
    at = store.now_ms()
    if ending.state == "done":
        journal.write(ResultEvent(at=at, output=ending.output, summary=ending.result or {}))
    journal.write(StateEvent(at=at, state=ending.state, attempt=attempt, error=ending.error))


def _outcome(job: Job, running: Running, kinds: Callable[[], Kinds]) -> Ending:
    """Run the job; whatever it raises is how it ends."""
    try:
        kind = kind_named(job.kind, kinds())
        running.breathe()
        result: JobResult = kind.run(read_parameters(kind, job.parameters), running)
        summary = _as_json(result)
    except Cancelled:
        return Ending(state="cancelled")
    except MlxpError as error:
        return Ending(state="failed", error=error.message)
    except Exception as error:  # noqa: BLE001  # whatever a job raises is its end, and is told
        traceback.print_exc()
        return Ending(state="failed", error=f"{type(error).__name__}: {error}")
    output = None if result.output is None else str(result.output)
    return Ending(state="done", result=summary, output=output)


def _as_json(result: JobResult) -> dict[str, Any]:
    summary = msgspec.to_builtins(dict(result.summary))
    msgspec.json.encode(summary)
    return dict(summary)


def _beat(job: Job, store: Store, running: Running, ended: Event, grace_s: float) -> None:
    """Be the heart, until the job ends."""
    while not ended.wait(BEAT_S):
        try:
            now = store.beat(job)
        except (
            sqlite3.OperationalError
        ) as error:  # the disk is full, or somebody writes for long: it may pass
            _log.warning("%s gave no sign of life: %s", job.id, error)
            continue
        if now is None and not ended.is_set():
            sys.stderr.write(f"{job.id}: this attempt was given up from elsewhere\n")
            os._exit(OVER)
        if now is None:
            return
        if now.cancel_at is not None:
            running.stop.set()
            if store.now_ms() - now.cancel_at > grace_s * 1000:
                _leave(job, store)
        if now.chat != "together" and now.device == "gpu" and somebody_answers(store):
            running.pause.set()
        else:
            running.pause.clear()


def somebody_answers(store: Store) -> bool:
    """Say whether a server that is there answers somebody."""
    now = store.now_ms()
    return any(
        not is_gone(server, (now - seen_at) / 1000, PATIENCE_S) for server, seen_at in store.busy_servers()
    )


def _leave(job: Job, store: Store) -> None:
    """End the process of a job that does not listen."""
    ending = Ending(state="cancelled", error="it did not stop by itself")
    if store.end(job, ending):
        tell(Journal(store.place_of(job.id)), store, ending, job.attempt)
    os._exit(1)


def _stopper(stop: Event) -> Callable[[int, FrameType | None], None]:
    def handle(_: int, __: FrameType | None) -> None:
        stop.set()

    return handle
