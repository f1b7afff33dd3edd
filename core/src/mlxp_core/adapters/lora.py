"""The terms of adapters, and the layer that adds them: every row of a batch its own.

A pass has a ``Choice``: which adapters each row takes. Where several adapters take part, their matrices stand side by
side for a module, ``A = [A1 A2 ..]`` and ``B`` likewise from top to bottom, so that one product serves all rows:

    y = base(x) + where(mine, x A, 0) B

``mine`` says which columns of ``x A`` are a row's own. A row that takes several adapters has the columns of all of
them, and so their sum; one that takes none keeps ``base(x)`` bit by bit. Foreign columns are set to zero, not
multiplied by it: what overflows in a neighbour's columns stays there. When all rows take the same adapters, all
columns are everybody's, and nothing is masked.

Every matrix is read once a pass, whoever wants it, which is what counts when a batch decodes.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TypeVar, cast

import mlx.core as mx
from mlx import nn
from msgspec import Struct

from mlxp_core.adapters.factors import Factors

Made = TypeVar("Made")


class Adapter(Struct, frozen=True, eq=False):
    """A mounted adapter: module path -> its term. ``key`` names the mount."""

    key: str
    terms: Mapping[str, Factors]


class Joined(Struct, frozen=True, eq=False):
    """The terms of several adapters for one module, side by side.

    Attributes:
        factors: of rank ``sum(ranks)``.
        members: places, among all adapters of the pass, of those that have a term here.
        ranks: theirs, in step with ``members``.
    """

    factors: Factors
    members: tuple[int, ...]
    ranks: tuple[int, ...]


class Company:
    """Adapters that take part in a pass together; what is joined of them is kept for the next pass."""

    def __init__(self, adapters: Sequence[Adapter]) -> None:
        """Join nothing yet."""
        self.adapters = tuple(adapters)
        self._joined: dict[str, Joined | None] = {}

    def at(self, path: str) -> Joined | None:
        """Return their terms for a module; ``None`` where none has any."""
        if path not in self._joined:
            self._joined[path] = self._join(path)
        return self._joined[path]

    def _join(self, path: str) -> Joined | None:
        found = [(place, each.terms[path]) for place, each in enumerate(self.adapters) if path in each.terms]
        if not found:
            return None
        members = tuple(place for place, _ in found)
        terms = [term for _, term in found]
        both = terms[0]
        if len(terms) > 1:
            a = mx.concatenate([term.a for term in terms], axis=1)
            b = mx.concatenate([term.b for term in terms], axis=0)
            mx.async_eval(a, b)  # once, not again in every pass that is dispatched before the first is done
            both = Factors(a, b)
        return Joined(both, members, tuple(term.a.shape[1] for term in terms))


class Choice:
    """Which adapters of a company each row of a pass takes."""

    def __init__(self, company: Company, rows: Sequence[frozenset[int]]) -> None:
        """Note the rows.

        Args:
            company: all adapters that any row takes.
            rows: for each row, the places in the company of those that it takes.
        """
        self._company = company
        self._rows = tuple(rows)
        self._alike = all(len(row) == len(company.adapters) for row in rows)
        self._made: dict[Hashable, mx.array | None] = {}

    def add(self, path: str, x: mx.array, y: mx.array) -> mx.array:
        """Return ``y`` with the rows' terms added.

        Args:
            path: of the module.
            x: ``[rows, ..., inputs]``, what went into it.
            y: ``[rows, ..., outputs]``, what came out of it.
        """
        joined = self._company.at(path)
        if joined is None:
            return y
        low = x @ joined.factors.a  # [rows, ..., ranks of all]
        if self._alike:
            return y + (low @ joined.factors.b).astype(y.dtype)
        between = (1,) * (x.ndim - 2)
        low = mx.where(_spread(self._mine(joined), between), low, 0)
        summed = y + (low @ joined.factors.b).astype(y.dtype)
        taken = self._taken(joined.members)
        return summed if taken is None else mx.where(_spread(taken, between), summed, y)

    def _mine(self, joined: Joined) -> mx.array:
        """Return ``[rows, ranks of all]``: which columns are a row's own."""

        def make() -> mx.array:
            pairs = list(zip(joined.members, joined.ranks, strict=True))
            return mx.array(
                [[place in row for place, rank in pairs for _ in range(rank)] for row in self._rows]
            )

        return cast("mx.array", self._once((joined.members, joined.ranks), make))

    def _taken(self, members: tuple[int, ...]) -> mx.array | None:
        """Return ``[rows, 1]``: which rows take any of ``members``; ``None`` = all do."""

        def make() -> mx.array | None:
            taken = [not row.isdisjoint(members) for row in self._rows]
            return None if all(taken) else mx.array(taken)[:, None]

        return self._once(members, make)

    def _once(self, key: Hashable, make: Callable[[], mx.array | None]) -> mx.array | None:
        if key not in self._made:
            self._made[key] = make()
        return self._made[key]


class Switch:
    """What the pass under way adds, for all layers of a network; ``None`` = nothing."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self.choice: Choice | None = None


class AdaptedLinear(nn.Module):
    """A linear layer, plain or quantized, to whose answer the pass's choice is added."""

    def __init__(self, linear: nn.Module, path: str, switch: Switch) -> None:
        """Stand in front of ``linear``, which is at ``path`` in its network."""
        super().__init__()
        self.linear = linear
        self._path, self._switch = path, switch

    def __call__(self, x: mx.array) -> mx.array:
        """Map ``[rows, ..., inputs]`` to ``[rows, ..., outputs]``."""
        y: mx.array = self.linear(x)
        choice = self._switch.choice
        return y if choice is None else choice.add(self._path, x, y)


def _spread(mask: mx.array, between: tuple[int, ...]) -> mx.array:
    """Give ``[rows, n]`` axes of length 1 between the two."""
    return mask.reshape(mask.shape[0], *between, mask.shape[1])
