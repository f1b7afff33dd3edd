"""How what a job makes appears: all at once, and signed by the job.

It is made in a folder beside its place. When it is complete, the job signs it and moves it there, which is one step for
the file system. So what is in its place is complete, and whoever finds the job's process gone can tell by the
signature whether it had come so far.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec
from msgspec import Struct

from mlxp_lab.jobs.kind import JobFailed

SIGNATURE = "mlxp_job.json"


class Signature(Struct, frozen=True, kw_only=True):
    """Which run of which job made a folder."""

    job: str
    kind: str
    attempt: int


@contextmanager
def making(place: Path, signature: Signature, *, replace: bool) -> Iterator[Path]:
    """Make a folder for as long as the block lasts, and move it to ``place`` at its end.

    Args:
        place: where it will be.
        signature: whose it is.
        replace: whether a folder that is there may be replaced.

    Raises:
        JobFailed: something is there that may not be replaced.
    """
    mend(place, signature.job)
    if place.exists() and not replace:
        raise JobFailed(f"{place} is there already; choose another place, or say that it may be replaced")
    place.parent.mkdir(parents=True, exist_ok=True)
    fresh = _beside(place, signature.job, "part")
    shutil.rmtree(fresh, ignore_errors=True)  # what an earlier run of this job has left
    fresh.mkdir()
    try:
        yield fresh
        (fresh / SIGNATURE).write_bytes(msgspec.json.encode(signature))
        _to_disk(fresh)
        _move(fresh, place, replace=replace)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def mend(place: Path, job: str) -> None:
    """Finish what a job was killed in the middle of: putting something new in the place of something old.

    Args:
        place: where it should be.
        job: the job's id.
    """
    fresh, old = _beside(place, job, "part"), _beside(place, job, "old")
    if not place.exists():
        whole = fresh if signed(fresh) is not None else old
        with suppress(OSError):  # somebody else was quicker, or there was nothing to mend
            whole.rename(place)
    if place.exists():
        shutil.rmtree(old, ignore_errors=True)


def signed(place: Path) -> Signature | None:
    """Return who made what is in ``place``; ``None`` where nothing says so."""
    try:
        return msgspec.json.decode((place / SIGNATURE).read_bytes(), type=Signature)
    except (OSError, msgspec.MsgspecError):
        return None


def _beside(place: Path, job: str, suffix: str) -> Path:
    return place.with_name(f".{place.name}.{job}.{suffix}")


def _move(fresh: Path, place: Path, *, replace: bool) -> None:
    """Move a folder to its place; one that is there goes out of the way first, and then for good."""
    if not place.exists():
        fresh.rename(place)
        return
    if not replace:
        raise JobFailed(f"{place} has come into being meanwhile; choose another place")
    old = fresh.with_suffix(".old")
    shutil.rmtree(old, ignore_errors=True)
    place.rename(old)  # whoever is killed here leaves nothing in the place; see ``mend``
    fresh.rename(place)
    shutil.rmtree(old, ignore_errors=True)


def _to_disk(folder: Path) -> None:
    """Have the system write what it still holds back, so that a power cut finds it all or nothing."""
    for path in (*(file for file in folder.rglob("*") if file.is_file()), folder):
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
