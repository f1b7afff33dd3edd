"""How a row is put together from pieces, whatever those are made of: arrays, or files.

A *checkpoint* is all it takes to go on from one place in a sequence. Layers that remember alike form a group:

- Where tokens lie side by side (``Snapshot.first``), a group has a chain of pieces, each some tokens long. A checkpoint
  further on in the same sequence, or in one that begins alike, takes over the pieces that are there and adds one with
  the tokens that are new. So twenty checkpoints of a conversation hold its keys and values once.
- A group that sees only the last tokens (``Snapshot.window``) drops from its chain the pieces that lie before them.
- Layers that are whole or nothing (recurrent state) have one piece of their own for each checkpoint.

A chain can also be cut shorter than its checkpoint. A checkpoint without whole layers therefore serves any beginning
of its sequence that its windows still cover.

A row that had been further on than it is (see ``BatchCache.trim``) may hold overwritten tokens at the far end of a
window; its checkpoint serves its own place only, and nobody builds on its windows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Generic, Protocol, TypeVar

from msgspec import Struct

_WASTE = 2
"""A piece is taken over if at least one in so many of its tokens is used."""


class Span(Protocol):
    """A piece: tokens ``first .. stop - 1`` in some layers; or whole layers as they are at ``stop``, ``first`` too."""

    @property
    def first(self) -> int:
        """Return the first token."""
        ...

    @property
    def stop(self) -> int:
        """Return the place behind the last one."""
        ...

    @property
    def nbytes(self) -> int:
        """Return its size."""
        ...

    def __hash__(self) -> int: ...


P = TypeVar("P", bound=Span)
Q = TypeVar("Q", bound=Span)


class Link(Struct, Generic[P], frozen=True):
    """A piece, and where in the sequence its use ends."""

    piece: P
    stop: int


class Group(Struct, Generic[P], frozen=True):
    """Layers that remember alike.

    Attributes:
        members: their places among all layers.
        window: as in ``Snapshot``.
        whole: they can only be taken as they are.
        links: pieces in order, each beginning where the one before is left.
    """

    members: tuple[int, ...]
    window: int | None
    whole: bool
    links: tuple[Link[P], ...]

    def needs(self, length: int) -> int:
        """Return the first token that it takes to go on from ``length``."""
        return 0 if self.window is None else max(0, length - self.window)

    def covers(self, length: int) -> bool:
        """Say whether a row of ``length`` tokens can be made of it; it is not longer than the chain."""
        if self.whole:
            return self.links[-1].stop == length or not self.links[-1].piece.nbytes
        return self.links[0].piece.first <= self.needs(length)

    def shared(self, beginning: int, length: int) -> tuple[Link[P], ...]:
        """Return the links that a row of ``length``, which shares ``beginning`` tokens with this one, can take over."""
        needs = self.needs(length)
        if self.whole or not self.links or self.links[0].piece.first > needs:
            return ()
        links: list[Link[P]] = []
        for link in self.links:
            piece, stop = link.piece, min(link.stop, beginning)
            if (stop - piece.first) * _WASTE < piece.stop - piece.first:
                break
            if stop > needs:
                links.append(Link(piece, stop))
            if stop < link.stop:
                break
        return tuple(links)

    def cuts(self, length: int) -> list[tuple[P, int, int]]:
        """Return the pieces of a row of ``length`` tokens, each with the part of it that is used, from its start."""
        needs = self.needs(length)
        begins = [self.links[0].piece.first, *(link.stop for link in self.links[:-1])]
        ends = [min(link.stop, length) for link in self.links]
        return [
            (link.piece, max(begin, needs) - link.piece.first, end - link.piece.first)
            for link, begin, end in zip(self.links, begins, ends, strict=True)
            if max(begin, needs) < end
        ]


class Checkpoint(Struct, Generic[P], frozen=True, eq=False):
    """All it takes to go on from ``length`` tokens.

    Attributes:
        length: tokens of the row.
        reached: the furthest the row had ever been.
        groups: which together have every layer.
    """

    length: int
    reached: int
    groups: tuple[Group[P], ...]

    @property
    def parts(self) -> tuple[P, ...]:
        """Return the pieces it holds on to, each once."""
        return tuple(dict.fromkeys(link.piece for group in self.groups for link in group.links))

    def reaches(self, length: int) -> bool:
        """Say whether it can serve the first ``length`` of its tokens."""
        if length == self.length:
            return True
        sound = self.reached == self.length or all(group.window is None for group in self.groups)
        return sound and 0 < length < self.length and all(group.covers(length) for group in self.groups)

    def shared(self, place: int, beginning: int, length: int) -> tuple[Link[P], ...]:
        """Return what ``Group.shared`` says of one group, unless its window may be damaged."""
        group = self.groups[place]
        damaged = group.window is not None and self.reached != self.length
        return () if damaged else group.shared(beginning, length)


def mapped(checkpoint: Checkpoint[P], pieces: Mapping[P, Q]) -> Checkpoint[Q]:
    """Return the same checkpoint, made of other pieces."""
    groups = tuple(
        Group(
            group.members,
            group.window,
            group.whole,
            tuple(Link(pieces[link.piece], link.stop) for link in group.links),
        )
        for group in checkpoint.groups
    )
    return Checkpoint(checkpoint.length, checkpoint.reached, groups)
