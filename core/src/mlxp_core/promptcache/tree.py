"""A prefix tree over token ids: which of the sequences it knows begins most like a new one. It never looks at values.

Only nodes with a value and nodes where sequences part exist; the tokens between two nodes are one edge. The root has
depth 0; a value's depth is the length of its sequence.
"""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heappop, heappush
from itertools import count
from typing import Generic, TypeVar

from msgspec import Struct

V = TypeVar("V")

Tokens = tuple[int, ...]


class Match(Struct, Generic[V], frozen=True):
    """How far a sequence agrees with those in the tree.

    Attributes:
        length: tokens shared with at least one of them.
        above: values of its own beginnings, each with its depth, shallowest first; the last may be at ``length``.
        below: of the values that share ``length`` tokens with it, one that is least deep; ``None`` where none is known.
        other: the token that a known sequence has in place of the sequence's next one; ``None`` where either ends.
    """

    length: int
    above: tuple[tuple[int, V], ...]
    below: V | None
    other: int | None


class PrefixTree(Generic[V]):
    """Values by sequence. Its size in nodes is at most twice the number of values."""

    def __init__(self) -> None:
        """Begin empty."""
        self._root: _Node[V] = _Node((), None)
        self._size = 0

    def __len__(self) -> int:
        """Return the number of values."""
        return self._size

    def __iter__(self) -> Iterator[V]:
        return (value for _, value in _values(self._root))

    def get(self, key: Tokens) -> V | None:
        """Return the value of exactly this sequence."""
        node = self._find(key)
        return None if node is None else node.value

    def put(self, key: Tokens, value: V) -> V | None:
        """Set the value of a sequence, and return the one it had."""
        node, depth = self._root, 0
        while depth < len(key):
            child = node.children.get(key[depth])
            if child is None:
                child = _Node(key[depth:], node)
                node.children[key[depth]] = child
            shared = _agreed(child.edge, key, depth)
            if shared < len(child.edge):
                child = child.split(shared)
            node, depth = child, depth + shared
        old, node.value = node.value, value
        self._size += old is None
        return old

    def drop(self, key: Tokens) -> V | None:
        """Forget a sequence, and return the value it had."""
        node = self._find(key)
        if node is None or node.value is None:
            return None
        old, node.value = node.value, None
        self._size -= 1
        node.tidy()
        return old

    def match(self, key: Tokens) -> Match[V]:
        """Walk down as far as the sequence goes."""
        node, depth = self._root, 0
        above: list[tuple[int, V]] = []
        while True:
            if node.value is not None:
                above.append((depth, node.value))
            child = node.children.get(key[depth]) if depth < len(key) else None
            if child is None:
                last = next(reversed(node.children), None) if depth < len(key) else None
                return Match(depth, tuple(above), _nearest(node), last)
            shared = _agreed(child.edge, key, depth)
            depth += shared
            if shared < len(child.edge):
                other = child.edge[shared] if depth < len(key) else None
                return Match(depth, tuple(above), _nearest(child), other)
            node = child

    def _find(self, key: Tokens) -> _Node[V] | None:
        node, depth = self._root, 0
        while depth < len(key):
            child = node.children.get(key[depth])
            if child is None or _agreed(child.edge, key, depth) < len(child.edge):
                return None
            node, depth = child, depth + len(child.edge)
        return node


class _Node(Generic[V]):
    """A place where a sequence ends or sequences part; ``edge`` leads to it from its parent."""

    __slots__ = ("children", "edge", "parent", "value")

    def __init__(self, edge: Tokens, parent: _Node[V] | None) -> None:
        self.edge = edge
        self.parent = parent
        self.children: dict[int, _Node[V]] = {}
        self.value: V | None = None

    def split(self, at: int) -> _Node[V]:
        """Put a node into the edge, ``at`` tokens behind the parent, and return it."""
        assert self.parent is not None  # noqa: S101  # the root's edge is empty
        middle = _Node(self.edge[:at], self.parent)
        self.parent.children[self.edge[0]] = middle
        middle.children[self.edge[at]] = self
        self.edge, self.parent = self.edge[at:], middle
        return middle

    def tidy(self) -> None:
        """Take out a node without value that nothing, or only one thing, hangs on; and so its parent."""
        node = self
        while node.parent is not None and node.value is None and not node.children:
            del node.parent.children[node.edge[0]]
            node = node.parent
        if node.parent is not None and node.value is None and len(node.children) == 1:
            (child,) = node.children.values()
            child.edge, child.parent = node.edge + child.edge, node.parent
            node.parent.children[node.edge[0]] = child


def _agreed(edge: Tokens, key: Tokens, start: int) -> int:
    """Return how many tokens of ``edge`` are those of ``key`` from ``start`` on."""
    if key[start : start + len(edge)] == edge:
        return len(edge)
    pairs = zip(edge, key[start : start + len(edge)], strict=False)
    return next((place for place, (one, other) in enumerate(pairs) if one != other), len(key) - start)


def _values(node: _Node[V]) -> Iterator[tuple[int, V]]:
    """Yield the values at and below a node, least deep first, each with its depth below it."""
    order = count()  # so that nodes themselves are never compared
    heap: list[tuple[int, int, _Node[V]]] = [(0, next(order), node)]
    while heap:
        depth, _, near = heappop(heap)
        if near.value is not None:
            yield depth, near.value
        for child in near.children.values():
            heappush(heap, (depth + len(child.edge), next(order), child))


def _nearest(node: _Node[V]) -> V | None:
    return next((value for _, value in _values(node)), None)
