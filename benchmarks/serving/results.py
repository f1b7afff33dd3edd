"""What a run has found, as it is kept in a file."""

import statistics
from collections.abc import Iterable
from pathlib import Path

import msgspec
from msgspec import Struct

from benchmarks.serving.client import Counts
from benchmarks.serving.presets import Preset


class Block(Struct, frozen=True, kw_only=True):
    """One server in one round.

    Attributes:
        samples: name -> values.
        load: processes that wanted a core before it began, this run's own not among them.
        pace_ms: of a fixed piece of work, before it began.
        failed: why there are no samples.
    """

    samples: dict[str, list[float]]
    counts: Counts
    load: float
    pace_ms: float
    failed: str | None = None


class Run(Struct, frozen=True, kw_only=True):
    """All servers on one model.

    Attributes:
        what: server -> version and options.
        blocks: server -> its rounds.
    """

    model: str
    preset: Preset
    begun: str
    machine: str
    what: dict[str, str]
    blocks: dict[str, list[Block]]

    def values(self, server: str, name: str) -> list[float]:
        """Return all samples of a server."""
        return [value for block in self.blocks[server] for value in block.samples.get(name, ())]

    def median(self, server: str, name: str) -> float | None:
        """Return the middle of them; ``None`` = there are none."""
        values = self.values(server, name)
        return statistics.median(values) if values else None

    def names(self) -> list[str]:
        """Return the names of everything that was measured, in order."""
        blocks = [block for rounds in self.blocks.values() for block in rounds]
        return list(
            dict.fromkeys(name for block in blocks for name, values in block.samples.items() if values)
        )


def write(runs: Iterable[Run], path: Path) -> None:
    """Write runs as JSON."""
    path.write_bytes(msgspec.json.format(msgspec.json.encode(list(runs))))


def read(path: Path) -> list[Run]:
    """Read them back."""
    return msgspec.json.decode(path.read_bytes(), type=list[Run])
