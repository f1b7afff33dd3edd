"""Whether a process is still there, and is the one that is meant."""

from __future__ import annotations

import functools
import os
import platform
from contextlib import suppress
from pathlib import Path

import psutil

from mlxp_lab.jobs.record import Whose

_SAME_START_S = 2.0
"""How far apart two readings of one process's start may be: the system keeps it relative to a clock that is set."""


def me() -> Whose:
    """Return this process."""
    return Whose(this_host(), os.getpid(), psutil.Process().create_time())


def is_gone(process: Whose, silent_s: float, patience_s: float) -> bool:
    """Say whether a process is known to be gone.

    Args:
        process: which one.
        silent_s: seconds since its last sign of life.
        patience_s: how much of that is enough where its number cannot be looked up here: on another machine, or in
            another container.
    """
    if process.host != this_host():
        return silent_s > patience_s
    return found(process) is None


def found(process: Whose) -> psutil.Process | None:
    """Return a process of this machine; ``None`` if it has ended, even if nobody has asked how."""
    try:
        there = psutil.Process(process.pid)
        same = abs(there.create_time() - process.started_s) < _SAME_START_S
        return there if same and there.status() != psutil.STATUS_ZOMBIE else None
    except psutil.NoSuchProcess:
        return None


@functools.cache
def this_host() -> str:
    """Return a name for this machine since it was started, and the set of process numbers that is ours."""
    parts = [platform.node(), _read("/proc/sys/kernel/random/boot_id") or str(round(psutil.boot_time(), -2))]
    with suppress(OSError):  # not on Linux
        parts.append(str(Path("/proc/self/ns/pid").readlink()))
    return "/".join(parts)


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="ascii").strip()
    except OSError:
        return ""
