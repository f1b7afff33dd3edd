"""The caches of a batch and the lengths of its rows, kept together and kept once."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Self

import mlx.core as mx
from msgspec import Struct

from mlxp_core.contracts import ImageSpan, Inputs, LanguageModel, LayerCache, Positions, Snapshot
from mlxp_core.kv.drafter import Drafter
from mlxp_core.kv.positions import BatchPositions


class RowSnapshot(Struct, frozen=True):
    """One row, frozen: its layers, its length, and the furthest it ever reached (see ``BatchCache.trim``)."""

    layers: tuple[Snapshot, ...]
    length: int
    reached: int

    @property
    def nbytes(self) -> int:
        """Return the bytes held."""
        return sum(layer.nbytes for layer in self.layers)


class BatchCache:
    """Rows of a batch.

    Attributes:
        layers: one cache for each layer that keeps state, those of a drafter behind the network's.
        lengths: tokens each row holds.
        drafter: reads along; ``None`` = nobody does.
    """

    def __init__(
        self, layers: Sequence[LayerCache], lengths: Sequence[int] = (0,), *, drafter: Drafter | None = None
    ) -> None:
        """Take over ``layers``, whose rows hold ``lengths`` tokens; by default one empty row.

        With a ``drafter`` the row is empty, and gets the drafter's caches, too.
        """
        self._own = len(layers)
        self.layers = list(layers) if drafter is None else [*layers, *drafter.make_caches()]
        self.lengths = list(lengths)
        self.drafter = drafter
        self._reached = list(lengths)

    @property
    def own(self) -> list[LayerCache]:
        """Return the caches of the network itself."""
        return self.layers[: self._own]

    @property
    def beside(self) -> list[LayerCache]:
        """Return the caches of the drafter."""
        return self.layers[self._own :]

    @property
    def rows(self) -> int:
        """Return the number of rows."""
        return len(self.lengths)

    @property
    def nbytes(self) -> int:
        """Return the bytes allocated now, all layers together."""
        return sum(layer.nbytes for layer in self.layers)

    def begin(self, counts: Sequence[int], width: int, *, revocable: bool = False) -> BatchPositions:
        """Return the positions of a pass over ``width`` tokens per row, of which ``counts`` are real.

        Rows can go back into a ``revocable`` pass until the next one, whatever their layers keep.
        """
        return BatchPositions(self.lengths, counts, width, revocable=revocable)

    def commit(self, at: Positions) -> None:
        """Lengthen the rows by what a pass that began at ``at`` has stored."""
        self.lengths = [start + count for start, count in zip(at.starts, at.counts, strict=True)]
        ends = (start + at.width for start in at.starts)
        self._reached = [max(pair) for pair in zip(self._reached, ends, strict=True)]

    def join(self, other: Self) -> None:
        """Append the rows of ``other``, which must not be used afterwards."""
        for mine, theirs in zip(self.layers, other.layers, strict=True):
            mine.join(theirs)
        self.lengths += other.lengths
        self._reached += other._reached

    def keep(self, rows: Sequence[int]) -> None:
        """Keep only these rows, in this order."""
        for layer in self.layers:
            layer.keep(rows)
        self.lengths = [self.lengths[row] for row in rows]
        self._reached = [self._reached[row] for row in rows]

    def reached(self, row: int) -> int:
        """Return the furthest that a row has ever been."""
        return self._reached[row]

    def trim(self, row: int, count: int) -> bool:
        """Go back by ``count`` tokens in one row, or change nothing and return ``False``.

        Some layers cannot go back, or not as far: a ring overwrites its oldest tokens with every new one, and what
        the row wrote before an earlier trim stays written. Hence the furthest position reached is what counts.
        """
        if count == 0:
            return True
        to, reached = self.lengths[row] - count, self._reached[row]
        if to < 0 or not all(layer.can_trim(row, to, reached) for layer in self.layers):
            return False
        for layer in self.layers:
            layer.trim(row, to)
        self.lengths[row] = to
        return True

    @contextmanager
    def detour(self) -> Iterator[None]:
        """Bring all rows back at the end to where they stand now; see ``LayerCache.mark``."""
        ways_back, lengths = [layer.mark() for layer in self.layers], list(self.lengths)
        try:
            yield
        finally:
            self.lengths = lengths
            for go_back in ways_back:
                go_back()

    def freeze(self, row: int, starts: Sequence[int] | None = None) -> RowSnapshot:
        """Return a copy of one row that no later pass touches; its arrays are on their way to be evaluated.

        Args:
            row: which one.
            starts: for each layer, the first token that is wanted; see ``LayerCache.freeze``. By default all are.
        """
        length = self.lengths[row]
        pairs = zip(self.layers, starts or [0] * len(self.layers), strict=True)
        layers = tuple(layer.freeze(row, length, start) for layer, start in pairs)
        mx.async_eval([layer.arrays for layer in layers])
        return RowSnapshot(layers, length, self._reached[row])

    def thaw(self, snapshot: RowSnapshot) -> "BatchCache":
        """Return a one-row batch that goes on where ``snapshot`` was taken; ``self`` is an empty one."""
        pairs = zip(self.layers, snapshot.layers, strict=True)
        thawed = BatchCache([layer.thaw(frozen) for layer, frozen in pairs], [snapshot.length])
        thawed.drafter, thawed._own = self.drafter, self._own
        thawed._reached = [snapshot.reached]
        return thawed


def forward(
    model: LanguageModel,
    cache: BatchCache,
    tokens: mx.array,
    *,
    counts: Sequence[int] | None = None,
    embeddings: mx.array | None = None,
    images: tuple[tuple[ImageSpan, ...], ...] = (),
    revocable: bool = False,
) -> mx.array:
    """Run one pass over every row, have the drafter follow, if there is one, and lengthen the rows.

    Args:
        model: the network.
        cache: where the rows stand; changed.
        tokens: ``[rows, width]`` int32, padded on the right.
        counts: real tokens of each row; absent = all of them.
        embeddings: ``[rows, width, hidden]`` in place of looking up ``tokens``.
        images: all spans of each row, past and future ones too, in order; absent = no row has any.
        revocable: whether rows may go back into the pass afterwards (``BatchCache.trim``).

    Returns:
        Hidden states ``[rows, width, hidden]``; rubbish where a row is padded.
    """
    width = tokens.shape[1]
    at = cache.begin([width] * cache.rows if counts is None else counts, width, revocable=revocable)
    shown = images if any(images) else ()
    now, past = spans_now(shown, at), spans_before(shown, at)
    inputs = Inputs(tokens=tokens, at=at, embeddings=embeddings, images=now, past_images=past)
    hidden = model(inputs, cache.own)
    if cache.drafter is not None:
        cache.drafter.follow(inputs, hidden, cache.beside)
    cache.commit(at)
    return hidden


Spans = tuple[tuple[ImageSpan, ...], ...]


def spans_now(rows: Spans, at: Positions) -> Spans:
    """Return the spans of each row that the pass reads any of."""

    def read(span: ImageSpan, row: int) -> bool:
        start = at.starts[row]
        return max(span.start, start) < min(span.end, start + at.counts[row])

    return tuple(tuple(span for span in spans if read(span, row)) for row, spans in enumerate(rows))


def spans_before(rows: Spans, at: Positions) -> Spans:
    """Return the spans of each row that were over before the pass."""
    return tuple(
        tuple(span for span in spans if span.end <= at.starts[row]) for row, spans in enumerate(rows)
    )
