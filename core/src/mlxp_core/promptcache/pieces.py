"""Checkpoints made of arrays: taken from rows, and put together again."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import mlx.core as mx
from msgspec import Struct

from mlxp_core.contracts import Snapshot
from mlxp_core.promptcache.files import Rows, Tensor
from mlxp_core.promptcache.layout import Checkpoint, Group, Link

Freeze = Callable[[Sequence[int]], tuple[Snapshot, ...]]
"""From which token on to freeze each layer -> the snapshots of a row."""

_DTYPES = {
    "F32": mx.float32,
    "F16": mx.float16,
    "BF16": mx.bfloat16,
    "I64": mx.int64,
    "I32": mx.int32,
    "U32": mx.uint32,
    "I16": mx.int16,
    "U16": mx.uint16,
    "U8": mx.uint8,
}
_NAMES = {dtype: name for name, dtype in _DTYPES.items()}

Layers = tuple[tuple[mx.array, ...], ...]


class Piece(Struct, frozen=True, eq=False, weakref=True):
    """A ``Span`` in memory.

    Attributes:
        first, stop: its tokens.
        layers: arrays of each layer.
        nbytes: bytes of all.
    """

    first: int
    stop: int
    layers: Layers
    nbytes: int


Held = Checkpoint[Piece]
"""A checkpoint in memory."""


def take(freeze: Freeze, length: int, reached: int, bases: Sequence[tuple[Held, int]]) -> Held:
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
    snapshots = freeze([starts[place] for place in range(len(starts))])
    known = {chain.members: chain for chain in chains}
    groups = tuple(
        _grown(_group(members, snapshots, length), known.get(members), length)
        for members in _alike(snapshots)
    )
    return Checkpoint(length, reached, groups)


def snapshots_of(held: Held, length: int) -> tuple[Snapshot, ...]:
    """Return a snapshot of each layer after the first ``length`` tokens, which it ``reaches``; lazy."""
    placed = {
        member: snapshot
        for group in held.groups
        for member, snapshot in zip(group.members, _assembled(group, length), strict=True)
    }
    return tuple(placed[place] for place in range(len(placed)))


def on_host(piece: Piece) -> list[list[Tensor]]:
    """Return the arrays of a piece, which have been computed, as the bytes they are; without a copy."""
    return [
        [Tensor(_NAMES[array.dtype], array.shape, memoryview(array)) for array in arrays]  # type: ignore[arg-type]  # arrays are buffers
        for arrays in piece.layers
    ]


def made_of(first: int, stop: int, rows: Rows) -> Piece:
    """Return the piece with these arrays, whose data are plain bytes; copies them."""
    layers = tuple(tuple(_array(tensor) for tensor in row) for row in rows)
    return Piece(first, stop, layers, sum(array.nbytes for arrays in layers for array in arrays))


def _array(tensor: Tensor) -> mx.array:
    flat = mx.array(memoryview(tensor.data))  # type: ignore[arg-type]  # it takes any buffer
    return mx.view(flat, _DTYPES[tensor.dtype]).reshape(tensor.shape)


def _best_chain(place: int, length: int, bases: Sequence[tuple[Held, int]]) -> Group[Piece]:
    """Return of one group the chain that saves most tokens of a row of ``length``; perhaps none."""
    like = bases[0][0].groups[place]
    best: tuple[Link[Piece], ...] = ()
    for base, beginning in bases:
        if place < len(base.groups) and base.groups[place].members == like.members:
            links = base.shared(place, min(beginning, length), length)
            if links and (not best or links[-1].stop > best[-1].stop):
                best = links
    return Group(like.members, like.window, like.whole, best)


def _alike(snapshots: Sequence[Snapshot]) -> list[tuple[int, ...]]:
    """Return the places of the layers, those together that remember alike."""
    kinds: dict[object, list[int]] = {}
    for place, snapshot in enumerate(snapshots):
        kind = "whole" if snapshot.first is None else (snapshot.first, snapshot.window)
        kinds.setdefault(kind, []).append(place)
    return [tuple(places) for places in kinds.values()]


def _group(members: tuple[int, ...], snapshots: Sequence[Snapshot], length: int) -> Group[Piece]:
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


def _grown(new: Group[Piece], known: Group[Piece] | None, length: int) -> Group[Piece]:
    """Put what was taken over in front of what is new."""
    if known is None or not known.links or new.whole:
        return new
    fresh = new.links if new.links[0].piece.first < length else ()
    return Group(new.members, new.window, new.whole, (*known.links, *fresh))


def _assembled(group: Group[Piece], length: int) -> list[Snapshot]:
    if group.whole:
        (link,) = group.links
        return [_snapshot(arrays) for arrays in link.piece.layers]
    cuts = group.cuts(length)
    return [
        _snapshot(
            _joined([(piece.layers[place], start, end) for piece, start, end in cuts]),
            group.needs(length),
            group.window,
        )
        for place in range(len(group.members))
    ]


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
