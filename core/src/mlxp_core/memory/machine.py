"""What this machine has, from what MLX and the system say of it. Pure: whoever asks them hands the answers in.

By default models may take

- on Metal, nine tenths of the working set that the device recommends (beyond it, macOS may refuse or page);
- on CUDA, nine tenths of what is free on the device;
- on a processor, eight tenths of the memory that is available, within the limit of the control group.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from mlxp_core.memory.chips import bandwidth
from mlxp_core.types import Machine

OF_WORKING_SET = 0.9
OF_FREE_ON_DEVICE = 0.9
OF_AVAILABLE = 0.8

DeviceInfo = Mapping[str, str | int]
"""What ``mx.device_info()`` returns; which keys there are depends on the back end."""


def read_machine(backend: str, info: DeviceInfo, *, proc: Path, cgroup: Path, host_bytes: int) -> Machine:
    """Return what there is.

    Args:
        backend: ``metal``, ``cuda`` or ``cpu``.
        info: what MLX says of the device.
        proc: ``/proc``, or another folder with a ``meminfo``.
        cgroup: ``/sys/fs/cgroup``, or another folder with the limits of a control group.
        host_bytes: all memory of the computer, where no ``meminfo`` says it.
    """
    chip = str(info.get("device_name", "unknown")).removeprefix("Apple ").strip()
    match backend:
        case "metal":
            ram = int(info.get("memory_size", host_bytes))
            working_set = int(info.get("max_recommended_working_set_size", ram))
            return _machine(backend, chip, ram, int(working_set * OF_WORKING_SET))
        case "cuda":
            ram = int(info.get("total_memory", 0))
            return _machine(backend, chip, ram, int(int(info.get("free_memory", ram)) * OF_FREE_ON_DEVICE))
        case _:
            total, available = host_memory(proc, cgroup, host_bytes)
            return _machine(backend, chip, total, int(available * OF_AVAILABLE))


def host_memory(proc: Path, cgroup: Path, host_bytes: int) -> tuple[int, int]:
    """Return the memory of this computer, and what of it is available, within the limits of the control group."""
    told = _meminfo(proc / "meminfo")
    total = told.get("MemTotal", host_bytes)
    available = told.get("MemAvailable", total)
    for limit, used, stat in (
        ("memory.max", "memory.current", "memory.stat"),
        ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes", "memory/memory.stat"),
    ):
        most, taken = _number(cgroup / limit), _number(cgroup / used)
        if most is not None and most < total:
            taken = max(0, (taken or 0) - _reclaimable(cgroup / stat))
            total, available = most, min(available, most - taken)
    return total, max(0, available)


def _machine(backend: str, chip: str, ram: int, usable: int) -> Machine:
    return Machine(
        backend=backend, chip=chip, ram_bytes=ram, usable_bytes=usable, bandwidth_gbs=bandwidth(chip)
    )


def _meminfo(path: Path) -> dict[str, int]:
    """Return the entries of ``/proc/meminfo`` in bytes; nothing where there is none."""
    if not path.is_file():
        return {}
    entries = (line.split() for line in path.read_text(encoding="ascii").splitlines())
    return {
        parts[0].rstrip(":"): int(parts[1]) * 1024
        for parts in entries
        if len(parts) == 3 and parts[1].isdigit()  # noqa: PLR2004  # name, number, unit
    }


def _reclaimable(path: Path) -> int:
    """Return the bytes of cached files that the system would give back; they count as used until then."""
    if not path.is_file():
        return 0
    entries = dict(
        line.split(maxsplit=1) for line in path.read_text(encoding="ascii").splitlines() if " " in line
    )
    return int(entries.get("inactive_file", entries.get("total_inactive_file", "0")))


def _number(path: Path) -> int | None:
    """Return the number in a file; ``None`` where there is none, or it says ``max``."""
    try:
        text = path.read_text(encoding="ascii").strip()
    except OSError:
        return None
    return int(text) if text.isdigit() else None
