"""Which jobs are forgotten."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from mlxp_lab.jobs.record import Job

_DAY_MS = 24 * 3600 * 1000


class Retention(Struct, frozen=True):
    """How long jobs that have ended are remembered: so many days, and so many jobs at most."""

    days: float = 90
    jobs: int = 500


def forgettable(ended: Sequence[Job], retention: Retention, now_ms: int) -> Iterator[Job]:
    """Yield the jobs to forget.

    Args:
        ended: jobs that have ended, the last one first.
        retention: how long they are remembered.
        now_ms: milliseconds since 1970.
    """
    for place, job in enumerate(ended):
        if place >= retention.jobs or now_ms - (job.ended_at or 0) > retention.days * _DAY_MS:
            yield job
