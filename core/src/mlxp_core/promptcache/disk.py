"""Checkpoints that outlive the process, in a folder of limited size.

The engine's thread owns everything here but the files, which one worker owns. It is given jobs, and each job gives back
what is left to do on the engine's thread (``tend``). So nobody waits for a disk:

- What is written are the arrays' own bytes, without a copy. The engine hands over arrays that have been computed, and
  holds on to them until they are written.
- Of what is to be written, the newest comes first; what has left the memory meanwhile is not written.
- What is read is checked by the worker, and comes back as bytes. Only a row that would wait alone waits for it.
"""

from __future__ import annotations

import fcntl
import logging
import queue
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import IO
from weakref import WeakKeyDictionary, WeakValueDictionary

from mlxp_core.promptcache.files import (
    LIST,
    PIECE,
    Damaged,
    Filed,
    FiledCheckpoint,
    Tensor,
    read_checkpoint,
    read_piece,
    write_checkpoint,
    write_piece,
)
from mlxp_core.promptcache.keys import Namespace
from mlxp_core.promptcache.layout import mapped
from mlxp_core.promptcache.pieces import Held, Piece, made_of, on_host
from mlxp_core.promptcache.store import Found, Store
from mlxp_core.promptcache.tree import Tokens

_log = logging.getLogger(__name__)

Done = Callable[[], object]
"""What is left of a job for the engine's thread."""

Job = Callable[[], Done]

Key = tuple[Namespace, Tokens]

_PENDING = 256
"""Most checkpoints that wait to be written; the oldest give up."""


class Disk:
    """The folder, as the engine's thread sees it.

    Attributes:
        off: why it is not used any more; ``None`` = it is.
    """

    def __init__(
        self, folder: Path, limit_bytes: int, in_memory: Callable[[Namespace, Tokens], Held | None]
    ) -> None:
        """Take a folder into service, and begin to see what is there.

        Args:
            folder: made if absent.
            limit_bytes: most bytes of pieces.
            in_memory: looks up what is to be written.
        """
        self.off: str | None = None
        self._folder = folder
        self._in_memory = in_memory
        self._store: Store[FiledCheckpoint] = Store(limit_bytes, dropped=self._delete)
        self._fresh: dict[Key, None] = {}  # offered since the last time that somebody tended
        self._pending: OrderedDict[Key, None] = OrderedDict()
        self._writing: dict[Key, Held] = {}
        self._scanned = False
        self._reading: dict[str, Held | Damaged | None] = {}  # None = under way
        self._filed: WeakKeyDictionary[Piece, Filed] = WeakKeyDictionary()
        self._pieces: WeakValueDictionary[str, Piece] = WeakValueDictionary()
        self._jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._done: queue.SimpleQueue[Done] = queue.SimpleQueue()
        self._lock = _locked(folder)
        if self._lock is None:
            self.off = f"{folder} cannot be written, or another server uses it"
            _log.warning("the prompt cache keeps nothing on disk: %s", self.off)
            return
        self._worker = threading.Thread(target=self._work, name="mlxp-promptcache", daemon=True)
        self._worker.start()
        self._jobs.put(self._scan)

    @property
    def nbytes(self) -> int:
        """Return the bytes of all pieces."""
        return self._store.nbytes

    @property
    def limit_bytes(self) -> int:
        """Return the most bytes of pieces."""
        return self._store.limit_bytes

    def __len__(self) -> int:
        """Return the number of checkpoints."""
        return len(self._store)

    def find(
        self, namespace: Namespace, key: Tokens, limit: int, *, fit: Callable[[int], int], wait: bool
    ) -> Found[FiledCheckpoint]:
        """Look a sequence up, as ``Store.find`` does; ``wait`` until it is known what is there."""
        while wait and not self._scanned and self.off is None:
            self._run_done(patience_s=1.0)
        return self._store.find(namespace, key, limit, fit=fit)

    def fetch(self, filed: FiledCheckpoint, *, wait: bool) -> Held | Damaged | None:
        """Return a checkpoint from disk, why there is none, or ``None`` while it is being read, unless ``wait``."""
        name = filed.name
        if name not in self._reading:
            self._reading[name] = None
            here = {part: self._pieces.get(part.name) for part in filed.parts}
            held = {part: piece for part, piece in here.items() if piece is not None}
            self._jobs.put(partial(self._read, filed, held))
        while wait and self._reading[name] is None and self.off is None:
            self._run_done(patience_s=1.0)
        if self.off is not None:
            self._reading.clear()
            return Damaged(name, f"is out of reach: {self.off}")
        return None if self._reading[name] is None else self._reading.pop(name)

    def offer(self, namespace: Namespace, key: Tokens) -> None:
        """Note that there is something new in memory."""
        known = (namespace, key) in self._writing or self._store.touch(namespace, key)
        if self.off is None and not known:
            self._fresh[namespace, key] = None

    def tend(self, *, idle: bool = False) -> None:
        """Finish what the worker has done, and give it more to do.

        Called when everything has been computed that was offered before the last call; ``idle`` = or ever, and it may
        be long until the next call.
        """
        while self._run_done():
            pass
        if idle:
            self._promote()
        while self.off is None and self._pending and (idle or not self._writing):
            (namespace, key), _ = self._pending.popitem()
            held = self._in_memory(namespace, key)
            if held is not None:
                self._write_out(namespace, key, held)
        self._promote()

    def close(self, patience_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        """Write what is left, as far as patience goes, and stop."""
        if self._lock is None:
            return
        until = clock() + patience_s
        self.tend(idle=True)
        while self._writing and self.off is None and clock() < until:
            self._run_done(patience_s=0.1)
        self._jobs.put(None)
        self._worker.join(patience_s)
        self._lock.close()
        self._lock = None

    # ── The engine's thread ─────────────────────────────────────────────────────────────────────────────────────

    def _run_done(self, patience_s: float = 0.0) -> bool:
        try:
            done = self._done.get(timeout=patience_s) if patience_s else self._done.get_nowait()
        except queue.Empty:
            return False
        done()
        return True

    def _found(self, found: list[FiledCheckpoint]) -> None:
        self._scanned = True
        for filed in found:
            self._store.put(filed.namespace, filed.key, filed)

    def _promote(self) -> None:
        self._pending |= self._fresh
        self._fresh.clear()
        while len(self._pending) > _PENDING:
            self._pending.popitem(last=False)

    def _write_out(self, namespace: Namespace, key: Tokens, held: Held) -> None:
        self._writing[namespace, key] = held
        filed = {piece: self._filed[piece] for piece in held.parts if piece in self._filed}
        known = {piece: part for piece, part in filed.items() if self._store.holds(part)}
        fresh = [(piece, on_host(piece)) for piece in held.parts if piece not in known]
        self._jobs.put(partial(self._write, namespace, key, held, known, fresh))

    def _written(self, filed: FiledCheckpoint, names: dict[Piece, Filed]) -> None:
        self._writing.pop((filed.namespace, filed.key), None)
        for piece, part in names.items():
            self._filed[piece] = part
            self._pieces[part.name] = piece
        self._store.put(filed.namespace, filed.key, filed)

    def _arrived(
        self, filed: FiledCheckpoint, held: dict[Filed, Piece], read: dict[Filed, list[list[Tensor]]]
    ) -> None:
        fresh = {part: made_of(part.first, part.stop, rows) for part, rows in read.items()}
        for part, piece in fresh.items():
            self._filed[piece] = part
            self._pieces[part.name] = piece
        self._reading[filed.name] = mapped(filed.row, held | fresh)

    def _broken(self, filed: FiledCheckpoint, why: Damaged) -> None:
        """Drop a checkpoint that cannot be read, and all others that need the same piece."""
        _log.warning("the prompt cache drops a checkpoint on disk: %s", why)
        self._reading[filed.name] = why
        bad = Path(why.file).stem
        for other in [other for other in self._store if any(part.name == bad for part in other.parts)]:
            self._store.discard(other.namespace, other.key)
            self._delete(other)

    def _delete(self, filed: FiledCheckpoint) -> None:
        gone = [part.name for part in filed.parts if not self._store.holds(part)]
        self._jobs.put(partial(self._unlink, [f"{filed.name}{LIST}", *(f"{name}{PIECE}" for name in gone)]))

    def _failed(self, error: Exception) -> None:
        self._writing.clear()
        self._pending.clear()
        self.off = f"{self._folder}: {type(error).__name__}: {error}"
        _log.warning("the prompt cache keeps nothing more on disk: %s", self.off)

    # ── The worker ──────────────────────────────────────────────────────────────────────────────────────────────

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            try:
                done = job()
            except Exception as error:  # noqa: BLE001  # what fails here ends the folder's use, not the server
                done = partial(self._failed, error)
            self._done.put(done)
            del job, done  # arrays in them are the other thread's to free

    def _scan(self) -> Done:
        """See what is there, oldest first; what cannot be used is deleted."""
        found: list[FiledCheckpoint] = []
        for path in sorted(self._folder.glob(f"*{LIST}"), key=lambda path: path.stat().st_mtime):
            try:
                filed = read_checkpoint(path)
            except Damaged as why:
                _log.warning("the prompt cache drops a file: %s", why)
                path.unlink(missing_ok=True)
            else:
                found.append(filed)
        named = {part.name for filed in found for part in filed.parts}
        for path in [*self._folder.glob(f"*{PIECE}"), *self._folder.glob(".*.new")]:
            if path.stem not in named:
                path.unlink(missing_ok=True)
        return partial(self._found, found)

    def _write(
        self,
        namespace: Namespace,
        key: Tokens,
        held: Held,
        known: dict[Piece, Filed],
        fresh: list[tuple[Piece, list[list[Tensor]]]],
    ) -> Done:
        names = {piece: write_piece(self._folder, piece.first, piece.stop, rows) for piece, rows in fresh}
        filed = FiledCheckpoint(namespace, key, mapped(held, known | names))
        write_checkpoint(self._folder, filed)
        return partial(self._written, filed, names)

    def _read(self, filed: FiledCheckpoint, held: dict[Filed, Piece]) -> Done:
        try:
            read = {part: read_piece(self._folder, part) for part in filed.parts if part not in held}
            (self._folder / f"{filed.name}{LIST}").touch()  # used last, for the next start
        except Damaged as why:
            return partial(self._broken, filed, why)
        return partial(self._arrived, filed, held, read)

    def _unlink(self, names: list[str]) -> Done:
        for name in names:
            (self._folder / name).unlink(missing_ok=True)
        return lambda: None


def _locked(folder: Path) -> IO[bytes] | None:
    """Make a folder and take it for this process alone; ``None`` = that cannot be."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = (folder / "lock").open("wb")
    except OSError:
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        return None
    return file
