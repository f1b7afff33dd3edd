"""Who is in the engine at one moment, as those see it who decide about models and adapters."""

from collections.abc import Collection, Iterable
from functools import cached_property

from mlxp_core.engine.sequence import Sequence


class House:
    """The choices that have rows, and those in line. What is said of them is worked out when it is asked for."""

    def __init__(self, holders: Collection[Sequence], line: Iterable[Sequence]) -> None:
        """Note who is there: those with rows, and those in line, the first one first."""
        self.holders = holders
        self._line = line

    @cached_property
    def first(self) -> Sequence | None:
        """Return who is first in line."""
        return next(iter(self._line), None)

    @cached_property
    def running(self) -> frozenset[str]:
        """Return the models that have rows."""
        return frozenset(sequence.order.model for sequence in self.holders)

    @cached_property
    def waiting(self) -> frozenset[str]:
        """Return the models that somebody in line wants."""
        return frozenset(sequence.order.model for sequence in self._line)

    @cached_property
    def adapters(self) -> frozenset[str]:
        """Return the keys of all mounts that anybody was handed in with."""
        return frozenset(key for sequence in (*self.holders, *self._line) for key in sequence.order.adapters)
