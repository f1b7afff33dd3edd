"""Rows kept in pieces, so that what many of them have in common is held once.

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

from collections.abc import Callable, Sequence

import mlx.core as mx
from msgspec import Struct

from mlxp_core.contracts import Snapshot

Freeze = Callable[[Sequence[int]], tuple[Snapshot, ...]]
"""From which token on to freeze each layer -> the snapshots of a row."""

Layers = tuple[tuple[mx.array, ...], ...]

_WASTE = 2
"""A piece is taken over if at least one in so many of its tokens is used."""


class Piece(Struct, frozen=True, eq=False):
    """Tokens ``first .. stop - 1`` in some layers; or whole layers as they are at ``stop``, ``first`` being the same.

    Attributes:
        layers: arrays of each layer.
        nbytes: bytes of all.
    """

    first: int
    stop: int
    layers: Layers
    nbytes: int


class Link(Struct, frozen=True):
    """A piece, and where in the sequence its use ends."""

    piece: Piece
    stop: int


class Group(Struct, frozen=True):
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
    links: tuple[Link, ...]

    def needs(self, length: int) -> int:
        """Return the first token that it takes to go on from ``length``."""
        return 0 if self.window is None else max(0, length - self.window)

    def covers(self, length: int) -> bool:
        """Say whether a row of ``length`` tokens can be made of it; it is not longer than the chain."""
        if self.whole:
            return self.links[-1].stop == length or not self.links[-1].piece.nbytes
        return self.links[0].piece.first <= self.needs(length)


class Checkpoint(Struct, frozen=True, eq=False):
    """All it takes to go on from ``length`` tokens.

    Attributes:
        length: tokens of the row.
        reached: the furthest the row had ever been.
        groups: which together have every layer.
    """

    length: int
    reached: int
    groups: tuple[Group, ...]

    @property
    def parts(self) -> tuple[Piece, ...]:
        """Return the pieces it holds on to."""
        return tuple(link.piece for group in self.groups for link in group.links)

    def reaches(self, length: int) -> bool:
        """Say whether it can serve the first ``length`` of its tokens."""
        if length == self.length:
            return True
        sound = self.reached == self.length or all(group.window is None for group in self.groups)
        return sound and 0 < length < self.length and all(group.covers(length) for group in self.groups)

    def snapshots(self, length: int) -> tuple[Snapshot, ...]:
        """Return a snapshot of each layer after the first ``length`` tokens, which it ``reaches``; lazy."""
        placed = {
            member: snapshot
            for group in self.groups
            for member, snapshot in zip(group.members, _assembled(group, length), strict=True)
        }
        return tuple(placed[place] for place in range(len(placed)))


def checkpoint(
    freeze: Freeze, length: int, reached: int, bases: Sequence[tuple[Checkpoint, int]]
) -> Checkpoint:
    """Make a checkpoint of a row, taking over what is known of its beginning.

    Args:
        freeze: the row.
        length: its tokens.
        reached: the furthest it had ever been.
        bases: checkpoints of sequences that begin like it, each with how many tokens they share.
    """
    chains = [_best_chain(place, length, bases) for place in range(len(bases[0][0].groups))] if bases else []
    starts: dict[int, int] = {}
    for chain in chains:
        starts |= dict.fromkeys(chain.members, chain.links[-1].stop if chain.links else 0)
    every = sum(len(chain.members) for chain in chains)
    snapshots = freeze([starts[place] for place in range(every)])
    known = {chain.members: chain for chain in chains}
    groups = tuple(
        _grown(_group(members, snapshots, length), known.get(members), length)
        for members in _alike(snapshots)
    )
    return Checkpoint(length, reached, groups)


def _best_chain(place: int, length: int, bases: Sequence[tuple[Checkpoint, int]]) -> Group:
    """Return of one group the chain that saves most tokens of a row of ``length``; perhaps none."""
    like = bases[0][0].groups[place]
    best = Group(like.members, like.window, like.whole, ())
    for base, shared in bases:
        if place >= len(base.groups) or base.groups[place].members != like.members:
            continue
        chain = _shared_chain(base, base.groups[place], min(shared, length), length)
        if chain and (not best.links or chain[-1].stop > best.links[-1].stop):
            best = Group(like.members, like.window, like.whole, chain)
    return best


def _shared_chain(base: Checkpoint, group: Group, shared: int, length: int) -> tuple[Link, ...]:
    """Return the links that a row of ``length``, which shares so many tokens with the base, can take over."""
    needs = group.needs(length)
    damaged = group.window is not None and base.reached != base.length
    if group.whole or damaged or not group.links or group.links[0].piece.first > needs:
        return ()
    links: list[Link] = []
    for link in group.links:
        piece, stop = link.piece, min(link.stop, shared)
        if (stop - piece.first) * _WASTE < piece.stop - piece.first:
            break
        if stop > needs:
            links.append(Link(piece, stop))
        if stop < link.stop:
            break
    return tuple(links)


def _alike(snapshots: Sequence[Snapshot]) -> list[tuple[int, ...]]:
    """Return the places of the layers, those together that remember alike."""
    kinds: dict[object, list[int]] = {}
    for place, snapshot in enumerate(snapshots):
        kind = "whole" if snapshot.first is None else (snapshot.first, snapshot.window)
        kinds.setdefault(kind, []).append(place)
    return [tuple(places) for places in kinds.values()]


def _group(members: tuple[int, ...], snapshots: Sequence[Snapshot], length: int) -> Group:
    """Return new pieces of these layers as a group with one link."""
    own = [snapshots[member] for member in members]
    first = own[0].first
    piece = Piece(
        length if first is None else first,
        length,
        tuple(snapshot.arrays for snapshot in own),
        sum(snapshot.nbytes for snapshot in own),
    )
    return Group(members, own[0].window, first is None, (Link(piece, length),))


def _grown(new: Group, known: Group | None, length: int) -> Group:
    """Put what was taken over in front of what is new."""
    if known is None or not known.links or new.whole:
        return new
    fresh = new.links if new.links[0].piece.first < length else ()
    return Group(new.members, new.window, new.whole, (*known.links, *fresh))


def _assembled(group: Group, length: int) -> list[Snapshot]:
    if group.whole:
        (link,) = group.links
        return [_snapshot(arrays) for arrays in link.piece.layers]
    needs = group.needs(length)
    cuts = [
        (link.piece, max(before, needs) - link.piece.first, min(link.stop, length) - link.piece.first)
        for before, link in zip(_begins(group), group.links, strict=True)
        if max(before, needs) < min(link.stop, length)
    ]
    return [
        _snapshot(
            _joined([(piece.layers[place], start, end) for piece, start, end in cuts]), needs, group.window
        )
        for place in range(len(group.members))
    ]


def _begins(group: Group) -> list[int]:
    """Return where the use of each link begins."""
    return [group.links[0].piece.first, *(link.stop for link in group.links[:-1])]


def _joined(cuts: Sequence[tuple[tuple[mx.array, ...], int, int]]) -> tuple[mx.array, ...]:
    """Put the same arrays of several pieces side by side, each from a token to another."""
    arrays, start, end = cuts[0]
    if len(cuts) == 1:
        return tuple(_cut(array, start, end) for array in arrays)
    each = zip(*([_cut(array, start, end) for array in arrays] for arrays, start, end in cuts), strict=True)
    return tuple(mx.concatenate(list(parts), axis=2) for parts in each)


def _cut(array: mx.array, start: int, end: int) -> mx.array:
    return array if (start, end) == (0, array.shape[2]) else array[:, :, start:end]


def _snapshot(arrays: tuple[mx.array, ...], first: int | None = None, window: int | None = None) -> Snapshot:
    return Snapshot(arrays, sum(array.nbytes for array in arrays), first, window)
