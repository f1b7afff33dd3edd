"""The rows of a dataset as a job learns from them: told in tokens, split, counted."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct

from mlxp_core.errors import BadRequest
from mlxp_lab.datasets.rows import MOST_TOLD, raw_lines, rows_of
from mlxp_lab.datasets.shelf import split_file
from mlxp_lab.jobs import JobFailed
from mlxp_lab.training.examples import Example, Pair, Teacher, taught
from mlxp_lab.training.parameters import TrainParameters, misfit

Item = Example | Pair
Step = Callable[[int, int], None]
"""Told (rows read, rows in all); may raise to stop."""


class Rows(Struct, frozen=True, kw_only=True):
    """What there is to learn.

    Attributes:
        train: to learn from.
        valid: to evaluate with.
        dropped: rows of which nothing was left within ``max_tokens``.
        digest: tells the files from others.
    """

    train: tuple[Item, ...]
    valid: tuple[Item, ...]
    dropped: int
    digest: str


def read(parameters: TrainParameters, teacher: Teacher, step: Step) -> Rows:
    """Read the rows of a dataset.

    Args:
        parameters: name the dataset, and what is held out.
        teacher: of the model.
        step: told after each row.

    Raises:
        BadRequest: a file cannot be read, or has faulty lines.
        JobFailed: the method or the model's template cannot do with rows, or none is left.
    """
    data = Path(parameters.data)
    files = [split_file(data, "train"), _held_out(data)]
    (train, lost), (valid, lost_too) = (
        ((), 0) if file is None else _told(file, parameters, teacher, step) for file in files
    )
    if files[1] is None and parameters.valid_share > 0:
        train, valid = _parted(train, parameters.valid_share, parameters.seed)
    if not train:
        raise JobFailed(f"no row of {data} has anything to learn within {parameters.max_tokens} tokens")
    return Rows(
        train=train,
        valid=valid[: parameters.valid_rows],
        dropped=lost + lost_too,
        digest=_digest([file for file in files if file is not None]),
    )


def _held_out(data: Path) -> Path | None:
    """Return the file of rows to evaluate with, if it has any."""
    file = split_file(data, "valid")
    return file if file is not None and any(raw_lines(file)) else None


def _told(
    file: Path, parameters: TrainParameters, teacher: Teacher, step: Step
) -> tuple[tuple[Item, ...], int]:
    """Return the rows of a file in tokens, and how many of them were dropped."""
    found = rows_of(file)
    items: list[Item] = []
    faults: list[str] = []
    for done, (line, row) in enumerate(found, start=1):
        fault, item = misfit(row, parameters.method), None
        if fault is None:
            try:
                item = taught(row, teacher)
            except BadRequest as error:
                fault = error.message
        if fault is not None:
            faults.append(f"line {line}: {fault}")
        if item is not None:
            items.append(item)
        step(done, len(found))
    if faults:
        more = f" (and {len(faults) - MOST_TOLD} more)" if len(faults) > MOST_TOLD else ""
        raise JobFailed(f"{file.name}, {'; '.join(faults[:MOST_TOLD])}{more}")
    return tuple(items), len(found) - len(items)


def _digest(files: Sequence[Path]) -> str:
    told = hashlib.sha256()
    for file in files:
        told.update(hashlib.sha256(file.read_bytes()).digest())
    return told.hexdigest()[:32]


def _parted(items: Sequence[Item], share: float, seed: int) -> tuple[tuple[Item, ...], tuple[Item, ...]]:
    """Hold a share of the items out, drawn by the seed; of a single one none."""
    count = min(max(1, round(len(items) * share)), len(items) - 1)
    dice = random.Random(f"{seed}/held out")  # noqa: S311  # a choice, no secret
    held = set(dice.sample(range(len(items)), max(0, count)))
    kept = tuple(item for place, item in enumerate(items) if place not in held)
    return kept, tuple(items[place] for place in sorted(held))
