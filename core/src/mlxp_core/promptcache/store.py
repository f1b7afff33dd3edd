"""Which checkpoints are kept: as many as fit into a number of bytes, the most useful ones.

What values are is nobody's business here: they hold parts, which several of them may share and which have a size.
A part counts once, for as long as any value holds it. So dropping a value frees what no other one needs.

Each value has a rank: when it was put or used last, and more for one that was used several times, such as the
instructions that many conversations begin with. The lowest rank goes first.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Iterator
from typing import Generic, Protocol, TypeVar

from msgspec import Struct

from mlxp_core.promptcache.keys import Namespace
from mlxp_core.promptcache.tree import PrefixTree, Tokens

FAVOUR = 160
"""Look-ups and puts, together, by which each further use of a value prolongs its stay."""

MOST_FAVOURS = 8
"""Uses beyond which there is nothing more to gain."""

_REMEMBERED = 4096
"""Dropped sequences that can be told from those that were never there."""


class Part(Protocol):
    """What several values may share; compared by identity."""

    @property
    def nbytes(self) -> int:
        """Return its size."""
        ...

    def __hash__(self) -> int: ...


class Value(Protocol):
    """What is kept for a sequence."""

    @property
    def parts(self) -> Iterable[Part]:
        """Return what it holds on to, each once."""
        ...

    def reaches(self, length: int) -> bool:
        """Say whether it can serve the first ``length`` tokens of its sequence; its own length always."""
        ...


V = TypeVar("V", bound=Value)


class _Entry(Generic[V]):
    """A value, and how useful it has been."""

    def __init__(self, namespace: Namespace, key: Tokens, value: V, rank: int) -> None:
        self.namespace = namespace
        self.key = key
        self.value = value
        self.rank = rank
        self.uses = 0

    def use(self, turn: int) -> None:
        self.uses += 1
        self.rank = turn + FAVOUR * min(self.uses - 1, MOST_FAVOURS)


class Found(Struct, Generic[V], frozen=True):
    """What a look-up came to.

    Attributes:
        value: serves ``length`` tokens; ``None`` = nothing does.
        length: 0 where nothing does.
        shared: tokens that the sequence shares with a known one.
        other: the token that the known one has there; ``None`` where either ends.
        known: something of this namespace is there.
    """

    value: V | None
    length: int
    shared: int
    other: int | None
    known: bool


class Store(Generic[V]):
    """Values by namespace and sequence.

    Attributes:
        nbytes: of all parts that are held.
        limit_bytes: most of them.
    """

    def __init__(self, limit_bytes: int, *, dropped: Callable[[V], object] = lambda _: None) -> None:
        """Begin empty.

        Args:
            limit_bytes: most bytes to hold.
            dropped: told of each value that had to make room.
        """
        self.limit_bytes = limit_bytes
        self.nbytes = 0
        self._dropped = dropped
        self._trees: dict[Namespace, PrefixTree[_Entry[V]]] = {}
        self._held: Counter[Part] = Counter()
        self._turn = 0
        self._lost: OrderedDict[int, None] = OrderedDict()

    def __len__(self) -> int:
        """Return the number of values."""
        return sum(len(tree) for tree in self._trees.values())

    def __iter__(self) -> Iterator[V]:
        return (entry.value for entry in self._entries())

    def find(
        self,
        namespace: Namespace,
        key: Tokens,
        limit: int,
        *,
        fit: Callable[[int], int] = lambda length: length,
        use: bool = True,
    ) -> Found[V]:
        """Return what serves the longest beginning of a sequence.

        Args:
            namespace: what else must agree.
            key: the sequence.
            limit: the longest beginning that is of use.
            fit: shortens a length to one where a value may be cut.
            use: count what was found as used.
        """
        self._turn += use
        tree = self._trees.get(namespace)
        if tree is None:
            return Found(None, 0, 0, None, known=False)
        match = tree.match(key)
        served = [(depth, entry) for depth, entry in match.above if depth <= limit]
        cut = fit(min(match.length, limit))
        if match.below is not None and cut > 0 and match.below.value.reaches(cut):
            served.append((cut, match.below))
        length, best = max(served, key=lambda pair: pair[0], default=(0, None))
        if best is None:
            return Found(None, 0, match.length, match.other, known=True)
        if use:
            best.use(self._turn)
        return Found(best.value, length, match.length, match.other, known=True)

    def relatives(self, namespace: Namespace, key: Tokens) -> list[tuple[V, int]]:
        """Return values of sequences that begin like this one, each with how many tokens it shares."""
        tree = self._trees.get(namespace)
        if tree is None:
            return []
        match = tree.match(key)
        near = [] if match.below is None else [(match.below.value, match.length)]
        return near + [(entry.value, depth) for depth, entry in reversed(match.above)]

    def touch(self, namespace: Namespace, key: Tokens) -> bool:
        """Say whether a sequence has a value; if so, it stays as if it were new."""
        tree = self._trees.get(namespace)
        entry = None if tree is None else tree.get(key)
        if entry is None:
            return False
        entry.rank = max(entry.rank, self._turn)
        return True

    def put(self, namespace: Namespace, key: Tokens, value: V) -> None:
        """Keep a value, in place of the one that the sequence had, and make room for it."""
        self._turn += 1
        entry = _Entry(namespace, key, value, self._turn)
        self._hold(value)
        old = self._trees.setdefault(namespace, PrefixTree()).put(key, entry)
        if old is not None:
            entry.uses, entry.rank = old.uses, max(old.rank, entry.rank)
            self._release(old.value)
        self._lost.pop(hash((namespace, key)), None)
        self.shrink(self.limit_bytes)

    def shrink(self, limit_bytes: int) -> None:
        """Drop values until at most so many bytes are held."""
        while self.nbytes > limit_bytes:
            worst = min(self._entries(), key=lambda entry: entry.rank)
            self._remove(worst)
            self._lost[hash((worst.namespace, worst.key))] = None
            if len(self._lost) > _REMEMBERED:
                self._lost.popitem(last=False)
            self._dropped(worst.value)

    def forget(self, gone: Callable[[Namespace], bool]) -> None:
        """Drop everything in namespaces that are gone."""
        for entry in [entry for entry in self._entries() if gone(entry.namespace)]:
            self._remove(entry)

    def discard(self, namespace: Namespace, key: Tokens) -> None:
        """Drop the value of a sequence, if it has one."""
        tree = self._trees.get(namespace)
        entry = None if tree is None else tree.get(key)
        if entry is not None:
            self._remove(entry)

    def holds(self, part: Part) -> bool:
        """Say whether any value holds on to a part."""
        return part in self._held

    def get(self, namespace: Namespace, key: Tokens) -> V | None:
        """Return the value of exactly this sequence; that is no use of it."""
        tree = self._trees.get(namespace)
        entry = None if tree is None else tree.get(key)
        return None if entry is None else entry.value

    def lost(self, namespace: Namespace, key: Tokens, lengths: Iterable[int]) -> bool:
        """Say whether a beginning of one of these lengths had a value that had to make room."""
        return any(hash((namespace, key[:length])) in self._lost for length in lengths)

    def _entries(self) -> Iterator[_Entry[V]]:
        return (entry for tree in self._trees.values() for entry in tree)

    def _remove(self, entry: _Entry[V]) -> None:
        tree = self._trees[entry.namespace]
        tree.drop(entry.key)
        if not tree:
            del self._trees[entry.namespace]
        self._release(entry.value)

    def _hold(self, value: V) -> None:
        for part in value.parts:
            if part not in self._held:
                self.nbytes += part.nbytes
            self._held[part] += 1

    def _release(self, value: V) -> None:
        for part in value.parts:
            self._held[part] -= 1
            if not self._held[part]:
                del self._held[part]
                self.nbytes -= part.nbytes
