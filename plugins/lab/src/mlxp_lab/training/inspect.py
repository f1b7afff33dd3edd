"""What a dataset is to a model before anything is learned: its rows in tokens, and what is wrong with them by line."""

from __future__ import annotations

import statistics
from itertools import islice, pairwise
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct

from mlxp_core.errors import BadRequest
from mlxp_core.workshop import OpenModel, open_model
from mlxp_lab.datasets.rows import Form, Line, form_of, lines_of
from mlxp_lab.datasets.shelf import Shelf, Split, split_file
from mlxp_lab.jobs import BadParameters, Site
from mlxp_lab.quantize.parameters import appraised
from mlxp_lab.training.examples import Example, Pair, Teacher, length_of, taught
from mlxp_lab.training.parameters import Learn, Method, misfit

MOST = 100
"""How many faults are told."""

LOOKED_AT = 1000
"""Rows of each file that are told in tokens; of the others only what is wrong by itself."""


class Question(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which dataset for which model; the rest means what it means to a fine-tuning."""

    model: str
    data: str
    method: Method = "sft"
    max_tokens: Annotated[int, Meta(ge=2)] = 2048
    learn: Learn = "answers"
    chat_template: bool = True


class Fault(Struct, frozen=True):
    """What is wrong with a line."""

    split: Split
    line: int
    message: str


class Lengths(Struct, frozen=True):
    """Tokens of rows."""

    least: int
    median: int
    most: int
    total: int


class Piece(Struct, frozen=True):
    """A piece of a row, and whether it is learned."""

    text: str
    learned: bool


class Inspection(Struct, frozen=True, kw_only=True):
    """A dataset as a model would learn it.

    Attributes:
        form: of the first good row.
        rows: good ones to learn from.
        valid_rows: good ones to evaluate with.
        tokens: of the rows that were looked at; null where there is none.
        learned: tokens of them that are learned.
        looked_at: how many rows that are.
        dropped: of them, rows of which nothing to learn is left within ``max_tokens``.
        faulty: lines that cannot be learned from.
        faults: the first of them.
        sample: the first row, in pieces.
        good: it can be learned from as it is.
    """

    form: Form | None
    rows: int
    valid_rows: int
    tokens: Lengths | None
    learned: int
    looked_at: int
    dropped: int
    faulty: int
    faults: tuple[Fault, ...]
    sample: tuple[Piece, ...]
    good: bool


def inspect(question: Question, site: Site) -> Inspection:
    """Look at a dataset through a model's eyes; no weights are read.

    Raises:
        BadParameters: there is no such model, or no such dataset.
        BadRequest: a file cannot be read.
    """
    _, source = appraised(question.model, site)
    data = Shelf(site.datasets).find(question.data)
    if split_file(data, "train") is None:
        raise BadParameters(f"{data} has no train.jsonl", param="data")
    model = open_model(source, site.models)
    look = _Look(model, question)
    for split in ("train", "valid"):
        look.at(split, data)
    return look.told()


class _Look:
    """What has been seen so far."""

    def __init__(self, model: OpenModel, question: Question) -> None:
        self._model, self._method = model, question.method
        self._teacher = Teacher(
            model,
            learn=question.learn,
            chat_template=question.chat_template,
            max_tokens=question.max_tokens,
        )
        self._rows: dict[Split, int] = {"train": 0, "valid": 0}
        self._faults: list[Fault] = []
        self._faulty = self._dropped = 0
        self._form: Form | None = None
        self._items: list[Example | Pair] = []

    def at(self, split: Split, data: Path) -> None:
        """Look at a file."""
        file = split_file(data, split)
        if file is None:
            return
        lines = lines_of(file)
        for close, some in ((True, islice(lines, LOOKED_AT)), (False, lines)):
            for line in some:
                fault = self._fault(line, close=close)
                self._rows[split] += fault is None
                self._faulty += fault is not None
                if fault is not None and len(self._faults) < MOST:
                    self._faults.append(Fault(split, line.number, fault))

    def told(self) -> Inspection:
        """Say what was seen."""
        lengths = [length_of(item) for item in self._items]
        middle = round(statistics.median(lengths)) if lengths else 0
        return Inspection(
            form=self._form,
            rows=self._rows["train"],
            valid_rows=self._rows["valid"],
            tokens=Lengths(min(lengths), middle, max(lengths), sum(lengths)) if lengths else None,
            learned=sum(map(_learned, self._items)),
            looked_at=len(self._items) + self._dropped,
            dropped=self._dropped,
            faulty=self._faulty,
            faults=tuple(self._faults),
            sample=_pieces(self._items[0], self._model) if self._items else (),
            good=bool(self._items) and self._faulty == 0,
        )

    def _fault(self, line: Line, *, close: bool) -> str | None:
        if line.row is None:
            return line.fault or "it is no row"
        self._form = self._form or form_of(line.row)
        fault = misfit(line.row, self._method)
        if fault is not None or not close:
            return fault
        try:
            item = taught(line.row, self._teacher)
        except BadRequest as error:
            return error.message
        self._dropped += item is None
        self._items += [] if item is None else [item]
        return None


def _learned(item: Example | Pair) -> int:
    match item:
        case Pair(chosen=chosen, rejected=rejected):
            return chosen.count + rejected.count
        case Example():
            return item.count


def _pieces(item: Example | Pair, model: OpenModel) -> tuple[Piece, ...]:
    """Return a row as text, cut where learning begins and ends; of a pair the good answer."""
    example = item.chosen if isinstance(item, Pair) else item
    cuts = sorted({0, len(example.tokens), *(cut for span in example.learned for cut in span)})
    begins = {start for start, _ in example.learned}
    decode = model.frontend.tokenizer.decode
    return tuple(Piece(decode(example.tokens[start:end]), start in begins) for start, end in pairwise(cuts))
