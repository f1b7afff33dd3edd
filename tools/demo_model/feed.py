"""Batches for the training, made by many processes while it runs; no conversation is ever seen twice.

A row is one conversation, padded to one of a few widths; a batch has rows of one width and always the same number of
tokens. Batches come from the processes in turn, so the same seed and number of processes give the same training.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator
from multiprocessing.queues import Queue
from pathlib import Path
from typing import NamedTuple

import numpy as np

from demo_model.codec import END, Codec
from demo_model.conversation import Conversation
from demo_model.drawing import Draw
from demo_model.mixture import conversation
from demo_model.render import pieces

TOKENIZER = Path(__file__).parent / "tokenizer.json"
WIDTHS = (32, 64, 96, 128, 192, 256, 384, 512, 768)
BATCH = 49152
"""Tokens of a batch; a multiple of every width."""

PAD, TOLD, OWN = 0, 1, 2
"""What a token is: padding, something told, or something that the model has to say itself."""


class Batch(NamedTuple):
    """Tokens ``[rows, width + 1]`` uint16, and what each but the first is, ``[rows, width]`` uint8."""

    tokens: np.ndarray
    kinds: np.ndarray


class Row(NamedTuple):
    """The tokens of a conversation, and what each is."""

    tokens: list[int]
    kinds: list[int]


def row(made: Conversation, codec: Codec) -> Row:
    """Encode a conversation."""
    tokens: list[int] = []
    kinds: list[int] = []
    for piece in pieces(made):
        ids = codec.encode(piece.text)
        tokens += ids
        kinds += [OWN if piece.own else TOLD] * len(ids)
    return Row(tokens, kinds)


def stack(rows: list[Row], width: int) -> Batch:
    """Pad rows to a batch."""
    tokens = np.full((len(rows), width + 1), END, dtype=np.uint16)
    kinds = np.full((len(rows), width), PAD, dtype=np.uint8)
    for place, (ids, what) in enumerate(rows):
        tokens[place, : len(ids)] = ids
        kinds[place, : len(ids) - 1] = what[1:]
    return Batch(tokens, kinds)


def width_of(length: int) -> int | None:
    """Return the narrowest width that so many tokens fit into, one of them only to be predicted."""
    return next((width for width in WIDTHS if length <= width + 1), None)


def batches(
    seed: str,
    *,
    tokens: int = BATCH,
    make: Callable[[Draw], Conversation] = conversation,
    longest: int = WIDTHS[-1],
) -> Iterator[Batch]:
    """Make batches without end, of what ``make`` draws and is not wider than ``longest``."""
    codec = Codec(TOKENIZER)
    waiting: dict[int, list[Row]] = {width: [] for width in WIDTHS}
    number = 0
    while True:
        made = row(make(Draw(f"{seed} {number}")), codec)
        number += 1
        width = width_of(len(made.tokens))
        if width is None or width > longest:
            continue
        rows = waiting[width]
        rows.append(made)
        if len(rows) == tokens // width:
            yield stack(rows, width)
            rows.clear()


class Feed:
    """The processes, and the next batch."""

    def __init__(self, seed: str, workers: int, *, ahead: int = 12, tokens: int = BATCH) -> None:
        """Start the processes; each makes up to ``ahead`` batches in advance."""
        start = multiprocessing.get_context("fork")
        self._queues: list[Queue[Batch]] = [start.Queue(ahead) for _ in range(workers)]
        self._workers = [
            start.Process(target=_work, args=(f"{seed} {place}", queue, tokens), daemon=True)
            for place, queue in enumerate(self._queues)
        ]
        for worker in self._workers:
            worker.start()
        self._turn = 0

    def take(self) -> Batch:
        """Wait for the next batch."""
        queue = self._queues[self._turn % len(self._queues)]
        self._turn += 1
        return queue.get()

    def stop(self) -> None:
        """End the processes."""
        for worker in self._workers:
            worker.terminate()


def _work(seed: str, queue: Queue[Batch], tokens: int) -> None:
    for batch in batches(seed, tokens=tokens):
        queue.put(batch)
