"""A job's events as they come, for ``text/event-stream``: an id is the place in the journal behind its event."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator

from mlxp_lab.jobs.events import Event, StateEvent, encode
from mlxp_lab.jobs.journal import Journal
from mlxp_lab.jobs.record import Job
from mlxp_lab.jobs.store import Store

LOOK_S = 0.2
SILENCE_S = 15.0
"""After so long a comment is sent, so that nobody takes the connection for dead."""

RETRY = b"retry: 1500\n\n"
END = b"event: end\ndata: {}\n\n"


async def stream(store: Store, job_id: str, start: int) -> AsyncIterator[bytes]:
    """Yield what to send, until the job has ended and all is told.

    Args:
        store: where the job is kept.
        job_id: which.
        start: place in the journal to begin at.
    """
    yield RETRY
    journal, place, sent_s = Journal(store.place_of(job_id)), start, time.monotonic()
    while True:
        job = await asyncio.to_thread(
            store.get, job_id
        )  # before the journal is read: what it says is in there
        told = await asyncio.to_thread(_read, journal, place)
        for event, place in told:  # the place to go on at
            yield _sent(event, place)
            sent_s = time.monotonic()
        if job is None or job.ended:
            if job is not None and not await asyncio.to_thread(_knows, journal, job):
                yield _sent(_ended(job), place)
            yield END
            return
        if time.monotonic() - sent_s > SILENCE_S:
            yield b": waiting\n\n"
            sent_s = time.monotonic()
        await asyncio.sleep(LOOK_S)


def _read(journal: Journal, start: int) -> list[tuple[Event, int]]:
    return list(journal.read(start))


def _knows(journal: Journal, job: Job) -> bool:
    """Say whether the journal tells how the job has ended; its process may have been killed before it could."""
    states = [event.state for event in journal.events() if isinstance(event, StateEvent)]
    return states[-1:] == [job.state]


def _sent(event: Event, place: int) -> bytes:
    return b"id: %d\ndata: %s\n\n" % (place, encode(event))


def _ended(job: Job) -> StateEvent:
    """Return the last event of a job whose journal does not have it."""
    return StateEvent(at=job.ended_at or 0, state=job.state, attempt=job.attempt, error=job.error)
