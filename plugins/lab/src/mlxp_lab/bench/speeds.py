"""Every measurement that was made; none is ever dropped."""

from __future__ import annotations

from pathlib import Path

import msgspec
from msgspec import Struct

from mlxp_core.types import MeasuredSpeed
from mlxp_lab.jobs.database import Database

FILE = "speeds.sqlite"

_TABLES = """
CREATE TABLE IF NOT EXISTS speeds (
  measured_at INTEGER NOT NULL,
  folder TEXT NOT NULL,
  model TEXT NOT NULL,
  weight_bytes INTEGER NOT NULL,
  machine TEXT NOT NULL,
  prompt_tokens INTEGER NOT NULL,
  tokens INTEGER NOT NULL,
  runs INTEGER NOT NULL,
  prefill_tps REAL NOT NULL,
  decode_tps REAL NOT NULL,
  predicted_decode_tps REAL,
  peak_bytes INTEGER NOT NULL,
  versions TEXT NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS speeds_by_folder ON speeds (folder, measured_at);
"""


class Speed(Struct, frozen=True, kw_only=True):
    """One measurement.

    Attributes:
        measured_at: milliseconds since 1970.
        folder: of the model.
        weight_bytes: of its files, to tell it from another one that was put in its place.
        machine: what computed.
        prompt_tokens: read, in each run.
        tokens: written, in each run.
        runs: whose medians these are.
        prefill_tps: tokens of the prompt per second.
        decode_tps: tokens of one answer per second.
        predicted_decode_tps: likewise; ``None`` = nobody could say.
        peak_bytes: most bytes of all arrays.
        versions: of the software.
    """

    measured_at: int
    folder: str
    model: str
    weight_bytes: int
    machine: str
    prompt_tokens: int
    tokens: int
    runs: int
    prefill_tps: float
    decode_tps: float
    predicted_decode_tps: float | None
    peak_bytes: int
    versions: str


class Speeds:
    """The measurements of one lab."""

    def __init__(self, lab: Path) -> None:
        """Open the file in the lab's folder, and make it if it is not there.

        Raises:
            SetupError: the file cannot be used.
        """
        self._database = Database(lab / FILE, _TABLES)

    def add(self, speed: Speed) -> None:
        """Keep a measurement."""
        told = msgspec.structs.asdict(speed)
        marks = ", ".join("?" for _ in told)
        self._database.change(
            f"INSERT INTO speeds ({', '.join(told)}) VALUES ({marks})",  # noqa: S608  # names of our fields
            tuple(told.values()),
        )

    def newest(self, limit: int, folder: Path | None = None) -> list[Speed]:
        """Return the newest measurements, newest first: of the model in a folder, or of all."""
        where, values = ("WHERE folder = ?", (str(folder),)) if folder is not None else ("", ())
        rows = self._database.rows(
            f"SELECT * FROM speeds {where} ORDER BY measured_at DESC, rowid DESC LIMIT ?",  # noqa: S608  # as above
            (*values, limit),
        )
        return [Speed(**dict(row)) for row in rows]

    def close(self) -> None:
        """Close the file."""
        self._database.close()


def last_speed(lab: Path, folder: Path) -> MeasuredSpeed | None:
    """Return how fast the model in a folder was last; makes no lab.

    Args:
        lab: the lab's folder.
        folder: the model's.
    """
    if not (lab / FILE).is_file():
        return None
    speeds = Speeds(lab)
    try:
        found = speeds.newest(1, folder.resolve())
    finally:
        speeds.close()
    return next((_told(speed) for speed in found), None)


def _told(speed: Speed) -> MeasuredSpeed:
    return MeasuredSpeed(
        decode_tps=speed.decode_tps, prefill_tps=speed.prefill_tps, measured_at=speed.measured_at
    )
