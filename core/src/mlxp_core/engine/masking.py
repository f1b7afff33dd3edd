"""Masks are computed on threads of their own while the device works on the logits that they go over."""

import os
from concurrent.futures import ThreadPoolExecutor

from mlxp_core.engine.hold import Mask

MOST_THREADS = 4


class MaskThreads:
    """A few threads, which are started with the first mask and end with this object."""

    def __init__(self) -> None:
        """Start nothing."""
        self._threads: ThreadPoolExecutor | None = None

    def begin(self, mask: Mask) -> Mask:
        """Begin to compute a mask; return what waits for it, and raises what it raised."""
        if self._threads is None:
            self._threads = ThreadPoolExecutor(min(MOST_THREADS, os.cpu_count() or 1), "mlxp-mask")
        return self._threads.submit(mask).result
