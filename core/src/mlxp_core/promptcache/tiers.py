"""What is known, in memory and on disk."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from mlxp_core.promptcache.disk import Disk
from mlxp_core.promptcache.files import Damaged
from mlxp_core.promptcache.keys import Namespace
from mlxp_core.promptcache.pieces import Held
from mlxp_core.promptcache.store import Found, Store
from mlxp_core.promptcache.tree import Tokens

GAIN = 16
"""Tokens that a checkpoint on disk must be ahead to be worth reading."""


class Tiers:
    """A store in memory, and perhaps a folder behind it.

    Attributes:
        memory: what is at hand.
        disk: the folder; ``None`` = there is none.
    """

    def __init__(self, limit_bytes: int, folder: Path | None = None, folder_bytes: int = 0) -> None:
        """Begin with what is in the folder.

        Args:
            limit_bytes: most bytes in memory; 0 = nothing is kept anywhere.
            folder: where checkpoints outlive the process; ``None`` = nowhere.
            folder_bytes: most bytes there.
        """
        self.memory: Store[Held] = Store(limit_bytes)
        used = folder if limit_bytes else None
        self.disk = None if used is None else Disk(used, folder_bytes, self.memory.get)

    def find(
        self, namespace: Namespace, key: Tokens, limit: int, *, fit: Callable[[int], int], wait: bool
    ) -> Found[Held] | None:
        """Look a sequence up, as ``Store.find`` does; what is on disk only is brought into memory.

        Returns:
            What was found; ``None`` while it is being read, unless ``wait``.
        """
        if self.disk is not None and self.disk.off is None:
            filed = self.disk.find(namespace, key, limit, fit=fit, wait=wait)
            here = self.memory.find(namespace, key, limit, fit=fit, use=False)
            if filed.value is not None and filed.length >= here.length + GAIN:
                match self.disk.fetch(filed.value, wait=wait):
                    case None:
                        return None
                    case Damaged():
                        pass
                    case held:
                        self.memory.put(namespace, filed.value.key, held)
        return self.memory.find(namespace, key, limit, fit=fit)

    def put(self, namespace: Namespace, key: Tokens, held: Held) -> None:
        """Keep a checkpoint, whose arrays may be on their way still."""
        self.memory.put(namespace, key, held)
        if self.disk is not None:
            self.disk.offer(namespace, key)

    def tend(self, *, idle: bool = False) -> bool:
        """See after the disk; say whether anything is different there now. See ``Disk.tend``."""
        if self.disk is None:
            return False
        before = (len(self.disk), self.disk.off)
        self.disk.tend(idle=idle)
        return before != (len(self.disk), self.disk.off)

    def close(self, patience_s: float) -> None:
        """Write what has not been written, as far as patience goes, and forget everything in memory."""
        if self.disk is not None:
            self.disk.close(patience_s)
        self.memory.forget(lambda _: True)
