"""A dataset without rows that are not worth keeping; which those are, and why, is told first."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from msgspec import Struct

from mlxp_core.errors import BadRequest
from mlxp_lab.datasets.keeping import changing, rekeep
from mlxp_lab.datasets.rows import lines_of
from mlxp_lab.datasets.shelf import Card, Split, card_of, files_of
from mlxp_lab.datasets.sieve import NO_ROW, Limits, Sieve

MOST = 100
"""How many remarks are kept."""


class Remark(Struct, frozen=True):
    """Why a line goes."""

    split: Split
    line: int
    why: str


class Cleaning(Struct, frozen=True, kw_only=True):
    """What a dataset is without such rows.

    Attributes:
        card: of the dataset, as it is now.
        kept: rows of each split.
        dropped: rows by the reason why.
        remarks: the first of them.
    """

    card: Card
    kept: dict[Split, int]
    dropped: dict[str, int]
    remarks: tuple[Remark, ...]


def clean(place: Path, limits: Limits, *, really: bool) -> Cleaning:
    """Leave out what is not worth keeping: faulty lines too, and rows of a later split that an earlier one has.

    Args:
        place: the dataset.
        limits: what rows must be.
        really: otherwise it is only said which rows that would be.

    Raises:
        BadRequest: no row to learn from would be left.
    """
    with changing:
        sieve, kept, remarks = Sieve(limits), dict[Split, list[bytes]](), list[Remark]()
        for split, path in files_of(place).items():
            kept[split] = []
            for line in lines_of(path):
                why = NO_ROW if line.row is None else sieve.take(line.row)
                if why is None:
                    kept[split].append(line.raw)
                else:
                    remarks.append(Remark(split, line.number, why))
        if really and not kept["train"]:
            raise BadRequest("no row to learn from would be left; nothing was changed")
        if really and remarks:
            rekeep(place, kept)
        return Cleaning(
            card=card_of(place),
            kept={split: len(lines) for split, lines in kept.items()},
            dropped=dict(Counter(remark.why for remark in remarks)),
            remarks=tuple(remarks[:MOST]),
        )
