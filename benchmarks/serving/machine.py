"""What processes use, and how busy and how fast the machine is."""

import hashlib
import os
from contextlib import suppress

import psutil

from benchmarks.serving.wire import clock


class Use:
    """What a process and its children have used."""

    def __init__(self, process: int) -> None:
        """Look at the process of that number."""
        self._process = psutil.Process(process)

    def processor_s(self) -> float:
        """Return the processor time of all of them, ended children included."""
        total = 0.0
        for each in self._all():
            with suppress(psutil.Error):
                used = each.cpu_times()
                total += used.user + used.system
        ended = self._process.cpu_times()
        return total + ended.children_user + ended.children_system

    def resident_mb(self) -> float:
        """Return their resident memory."""
        total = 0
        for each in self._all():
            with suppress(psutil.Error):
                total += each.memory_info().rss
        return total / 2**20

    def _all(self) -> list[psutil.Process]:
        return [self._process, *self._process.children(recursive=True)]


def load() -> float:
    """Return how many processes want a core, on average of a minute."""
    return os.getloadavg()[0]


def pace_ms() -> float:
    """Return the milliseconds of a fixed piece of work: how fast one core is just now."""
    begin = clock()
    digest, block = hashlib.sha256(), bytes(2**20)
    for _ in range(24):
        digest.update(block)
    return (clock() - begin) * 1e3
