"""Which rows a model learns from, which it is watched with, and which it is tested with."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

from mlxp_core.errors import BadRequest
from mlxp_lab.datasets.doubts import whole
from mlxp_lab.datasets.keeping import changing, rekeep
from mlxp_lab.datasets.rows import lines_of
from mlxp_lab.datasets.shelf import Card, Split, card_of, files_of
from mlxp_lab.jobs import BadParameters


def divided(texts: Sequence[str], *, valid: float, test: float, seed: int) -> dict[Split, list[int]]:
    """Deal rows out, in an order that the seed alone decides; rows that say the same stay together.

    Args:
        texts: what each row says.
        valid: share that a model is watched with.
        test: share that it is tested with.
        seed: of the order.

    Returns:
        places of the rows of each split, ascending. A share that is not 0 gets a row where there are enough different
        ones, and one is always left to learn from.

    Raises:
        BadParameters: the shares leave nothing to learn from.
    """
    if not (0 <= valid < 1 and 0 <= test < 1 and valid + test < 1):
        raise BadParameters("valid and test are shares from 0 on, and less than 1 together", param="valid")
    groups: dict[str, list[int]] = {}
    for place, text in enumerate(texts):
        groups.setdefault(text, []).append(place)
    order = list(groups.values())
    random.Random(seed).shuffle(order)  # noqa: S311  # the same for everybody, on purpose
    shares: tuple[tuple[Split, float], ...] = (("valid", valid), ("test", test))
    dealt: dict[Split, list[int]] = {"train": [], "valid": [], "test": []}
    for split, share in shares:
        wanted = max(1, round(share * len(texts))) if share else 0
        while len(dealt[split]) < wanted and len(order) > 1:
            dealt[split] += order.pop()
    dealt["train"] = [place for group in order for place in group]
    return {split: sorted(places) for split, places in dealt.items()}


def lines_dealt(
    lines: Sequence[bytes], texts: Sequence[str], *, valid: float, test: float, seed: int
) -> dict[Split, list[bytes]]:
    """Return the lines of each split; see ``divided``."""
    dealt = divided(texts, valid=valid, test=test, seed=seed)
    return {split: [lines[place] for place in places] for split, places in dealt.items()}


def split_anew(place: Path, *, valid: float, test: float, seed: int) -> Card:
    """Deal all rows of a dataset out anew, and return its card.

    Raises:
        BadRequest: a line is no row.
        BadParameters: the shares leave nothing to learn from.
    """
    with changing:
        lines, texts = good_lines(place)
        rekeep(place, lines_dealt(lines, texts, valid=valid, test=test, seed=seed))
        return card_of(place)


def good_lines(place: Path) -> tuple[list[bytes], list[str]]:
    """Return the lines of all files of a dataset, and what each says.

    Raises:
        BadRequest: a line is no row.
    """
    lines, texts = [], []
    for path in files_of(place).values():
        for line in lines_of(path):
            if line.row is None:
                raise BadRequest(f"{path.name}, line {line.number}: {line.fault}. Mend it first")
            lines.append(line.raw)
            texts.append(whole(line.row))
    return lines, texts
