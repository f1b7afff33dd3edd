"""Threads for what takes time and needs no arrays, and how many requests it is done for now."""

import asyncio
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

from mlxp_core.errors import Busy

T = TypeVar("T")

RETRY_AFTER = (("retry-after", "1"),)
MOST_WORKERS = 4


class Workers:
    """A few threads. Belongs to the event-loop thread."""

    def __init__(self, most: int) -> None:
        """Begin idle; ``most`` = how many pieces of work may be under way or wait."""
        self._most = most
        self._busy = 0
        self._threads = ThreadPoolExecutor(min(MOST_WORKERS, os.cpu_count() or 1), "mlxp-prepare")

    def check(self) -> None:
        """Refuse more work than there may be.

        Raises:
            Busy: there is as much already.
        """
        if self._busy >= self._most:
            raise Busy(f"{self._busy} requests are being prepared already; try again", headers=RETRY_AFTER)

    async def do(self, work: Callable[[], T]) -> T:
        """Return what ``work`` returns, which is done on one of the threads."""
        with self.counted():
            return await asyncio.get_running_loop().run_in_executor(self._threads, work)

    @contextmanager
    def counted(self) -> Iterator[None]:
        """Count what is done elsewhere meanwhile as work, too."""
        self._busy += 1
        try:
            yield
        finally:
            self._busy -= 1

    def stop(self) -> None:
        """Begin nothing more, and let the threads end."""
        self._threads.shutdown(wait=False, cancel_futures=True)
