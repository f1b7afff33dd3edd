"""One SQLite database, shared by threads of this process and by other processes."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import RLock
from typing import Any

from mlxp_core.errors import SetupError

BUSY_S = 20.0
"""How long one writer waits for another."""


class Database:
    """A connection. Every call is a transaction of its own, but in a ``with database.writing()`` block."""

    def __init__(self, path: Path, tables: str) -> None:
        """Open the database, and make it with its tables if it is not there.

        Raises:
            SetupError: the file cannot be opened, or is no database.
        """
        path.parent.mkdir(parents=True, exist_ok=True)
        self._lock = RLock()
        try:
            self._connection = sqlite3.connect(
                path, timeout=BUSY_S, isolation_level=None, check_same_thread=False
            )
            self._connection.row_factory = sqlite3.Row
            self._connection.execute("PRAGMA journal_mode = WAL")
            self._connection.execute("PRAGMA synchronous = NORMAL")
            self._connection.executescript(tables)
        except sqlite3.DatabaseError as error:
            raise SetupError(
                f"{path} cannot be used as a database: {error}; move it away to begin anew"
            ) from error

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Make one transaction of a block: no other process writes meanwhile, and a fault undoes all of it."""
        with self._lock:
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")

    def rows(self, query: str, values: Sequence[Any] = ()) -> list[sqlite3.Row]:
        """Return what a query finds."""
        with self._lock:
            return self._connection.execute(query, values).fetchall()

    def change(self, query: str, values: Sequence[Any] = ()) -> int:
        """Carry out a change, and return how many rows it was about."""
        with self._lock:
            return self._connection.execute(query, values).rowcount

    def close(self) -> None:
        """Close the connection."""
        with self._lock:
            self._connection.close()
