"""The one file of this room that asks the device, and sets its limits."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import mlx.core as mx

from mlxp_core.memory.machine import read_machine
from mlxp_core.types import Machine

CACHE_OF_BUDGET = 8
"""The allocator keeps at most one part in so many of the budget for buffers that are free."""


def this_machine() -> Machine:
    """Return what arrays are computed on here."""
    cpu = mx.default_device().type == mx.DeviceType.cpu
    backend = "cpu" if cpu else "metal" if mx.metal.is_available() else "cuda"
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return read_machine(
        backend,
        mx.device_info(mx.default_device()),
        proc=Path("/proc"),
        cgroup=Path("/sys/fs/cgroup"),
        host_bytes=pages,
    )


@contextmanager
def kept_within(total: int) -> Iterator[None]:
    """Have MLX stay within ``total`` bytes for as long as the block lasts.

    Above its limit MLX gives free buffers back and waits for work under way before it begins more. On Metal memory is
    wired, so that weights are never paged out; elsewhere there is nothing to wire.
    """
    memory = mx.set_memory_limit(total)
    cache = mx.set_cache_limit(total // CACHE_OF_BUDGET)
    wired = None
    if mx.metal.is_available():
        most = int(mx.device_info()["max_recommended_working_set_size"])
        wired = mx.set_wired_limit(min(total, most))

    try:
        yield
    finally:
        mx.set_memory_limit(memory)
        mx.set_cache_limit(cache)
        if wired is not None:
            mx.set_wired_limit(wired)


def measured() -> tuple[int, int]:
    """Return the bytes of all arrays, now and at most since the last ``forget_peak``."""
    return mx.get_active_memory(), mx.get_peak_memory()


def synchronize() -> None:
    """Wait until everything has been computed.

    Raises:
        RuntimeError: something could not be; said once, and not necessarily here.
    """
    mx.synchronize()


def forget_peak() -> None:
    """Let the peak begin anew."""
    mx.reset_peak_memory()
