"""The methods: each says of a pass what is to be made small, and what tells how it goes.

Losses are sums, weighed afterwards, so that the passes of a step add up to one large pass, and those of an evaluation
to the whole.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import mlx.core as mx

from mlxp_core.contracts import LanguageModel
from mlxp_lab.jobs import JobFailed
from mlxp_lab.training.course import Batch
from mlxp_lab.training.examples import Example, Pair
from mlxp_lab.training.losses import Taught, answer_lengths, answer_sums, dpo, orpo, token_losses

_PAD_TO = 32
"""Widths of passes are multiples of it, so that few different ones occur."""

Told = Mapping[str, mx.array]
"""Sums of further numbers, by name."""


class Objective(Protocol):
    """A method, over all items of a set.

    Attributes:
        asks_base: whether the base must have been asked about every pass before (``ask_base``).
    """

    asks_base: bool

    def ask_base(self, model: LanguageModel, batch: Batch) -> None:
        """Note what the base says of a pass; no terms may count meanwhile."""
        ...

    def weight(self, batch: Batch) -> int:
        """Return how much a pass counts: tokens, or pairs."""
        ...

    def tokens(self, batch: Batch) -> int:
        """Return how many tokens of a pass are learned from."""
        ...

    def summed(self, model: LanguageModel, batch: Batch) -> tuple[mx.array, Told]:
        """Return the loss of a pass, summed, and what else there is to tell, summed too."""
        ...


class Answers:
    """Supervised fine-tuning: answers become likelier."""

    asks_base = False

    def __init__(self, items: Sequence[Example]) -> None:
        """Learn from these."""
        self._items = items

    def ask_base(self, model: LanguageModel, batch: Batch) -> None:
        """Do nothing: the base has no say."""

    def weight(self, batch: Batch) -> int:
        """Return the learned tokens of a pass."""
        return sum(self._items[item].count for unit in batch for item in unit)

    def tokens(self, batch: Batch) -> int:
        """Return the same."""
        return self.weight(batch)

    def summed(self, model: LanguageModel, batch: Batch) -> tuple[mx.array, Told]:
        """Return the summed surprise at learned tokens."""
        rows = [[self._items[item] for item in unit] for unit in batch]
        return token_losses(model, lay_out(rows)).sum(), {}


class _Pairs:
    """What methods have in common that learn from two answers."""

    asks_base = False

    def __init__(self, items: Sequence[Pair]) -> None:
        """Learn from these."""
        self._items = items

    def weight(self, batch: Batch) -> int:
        """Return the pairs of a pass."""
        return len(batch)

    def tokens(self, batch: Batch) -> int:
        """Return the tokens of all answers of a pass."""
        pairs = self._pairs(batch)
        return sum(pair.chosen.count + pair.rejected.count for pair in pairs)

    def ask_base(self, model: LanguageModel, batch: Batch) -> None:
        """Do nothing: the base has no say."""

    def _pairs(self, batch: Batch) -> list[Pair]:
        return [self._items[item] for unit in batch for item in unit]

    def _laid_out(self, batch: Batch) -> Taught:
        """Return good answers, then the worse ones, a row each."""
        pairs = self._pairs(batch)
        return lay_out([*([pair.chosen] for pair in pairs), *([pair.rejected] for pair in pairs)])


class Preferences(_Pairs):
    """DPO: good answers gain on worse ones, held by the base."""

    asks_base = True

    def __init__(self, items: Sequence[Pair], beta: float) -> None:
        """Learn from these; ``beta``: how strongly the base holds."""
        super().__init__(items)
        self._beta = beta
        self._base: dict[int, mx.array] = {}

    def ask_base(self, model: LanguageModel, batch: Batch) -> None:
        """Note what the base says of a pass."""
        taught = self._laid_out(batch)
        said = answer_sums(token_losses(model, taught), taught).reshape(2, -1).T
        mx.eval(said)
        self._base.update(zip((item for unit in batch for item in unit), said, strict=True))

    def summed(self, model: LanguageModel, batch: Batch) -> tuple[mx.array, Told]:
        """Return the summed loss, how many good answers gained, and by how much."""
        taught = self._laid_out(batch)
        said = answer_sums(token_losses(model, taught), taught).reshape(2, -1)
        base = mx.stack([self._base[item] for unit in batch for item in unit]).T
        return dpo(said[0] - base[0], said[1] - base[1], self._beta)


class Odds(_Pairs):
    """ORPO: good answers become likelier, and their odds better than those of worse ones."""

    def __init__(self, items: Sequence[Pair], weight: float) -> None:
        """Learn from these; ``weight``: of the odds."""
        super().__init__(items)
        self._weight = weight

    def summed(self, model: LanguageModel, batch: Batch) -> tuple[mx.array, Told]:
        """Return the summed loss, its two parts, and how many good answers have the better odds."""
        taught = self._laid_out(batch)
        mean = (answer_sums(token_losses(model, taught), taught) / answer_lengths(taught)).reshape(2, -1)
        return orpo(mean[0], mean[1], self._weight)


def lay_out(rows: Sequence[Sequence[Example]]) -> Taught:
    """Lay examples out for a pass, those of a row one behind the other.

    The last token of an example is only learned, never read.
    """
    longest = max(sum(len(example.tokens) - 1 for example in row) for row in rows)
    width = -(-longest // _PAD_TO) * _PAD_TO
    tokens, segments = [], []
    places: list[int] = []
    targets: list[int] = []
    owners: list[int] = []
    count = 0
    for number, row in enumerate(rows):
        line: list[int] = []
        of: list[int] = []
        for example in row:
            first = number * width + len(line) - 1
            for start, end in example.learned:
                where = range(max(1, start), end)
                places += [first + place for place in where]
                targets += [example.tokens[place] for place in where]
                owners += [count] * len(where)
            line += example.tokens[:-1]
            of += [count] * (len(example.tokens) - 1)
            count += 1
        tokens.append(line + [0] * (width - len(line)))
        segments.append(of + [-1] * (width - len(of)))
    if not places:
        raise JobFailed("a pass has nothing to learn")
    return Taught(
        tokens=mx.array(tokens, dtype=mx.int32),
        places=mx.array(places, dtype=mx.int32),
        targets=mx.array(targets, dtype=mx.int32),
        owners=mx.array(owners, dtype=mx.int32),
        examples=count,
        segments=mx.array(segments, dtype=mx.int32) if count > len(rows) else None,
    )
