"""What guesses for a network by reading along: it has caches of its own in the network's rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import mlx.core as mx

    from mlxp_core.contracts import Inputs, LayerCache
    from mlxp_core.kv.batch import BatchCache


class Drafter(Protocol):
    """Another network, or a head on top of this one. Engine thread only."""

    @property
    def scheme(self) -> str:
        """Return how its caches keep what they keep; see ``KVPolicy.scheme``."""
        ...

    def make_caches(self) -> list[LayerCache]:
        """Return empty caches for one row; they join, leave, go back and are frozen with the network's."""
        ...

    def follow(self, inputs: Inputs, hidden: mx.array, caches: Sequence[LayerCache]) -> None:
        """Read what the network has just read, so that its caches stand where the network's do.

        Args:
            inputs: of the network's pass.
            hidden: what came of it, ``[rows, width, hidden]``.
            caches: its own; written to.
        """
        ...

    def ahead(
        self, cache: BatchCache, tokens: mx.array, count: int, draw: Callable[[mx.array], mx.array]
    ) -> mx.array:
        """Guess the next ``count`` tokens of each row, one after the other; its caches stay where they are. Lazy.

        Args:
            cache: the rows.
            tokens: ``[rows]`` int32, drawn behind what the rows hold.
            count: how many; no more than a ring's slack.
            draw: takes scores ``[rows, vocabulary]`` and returns tokens ``[rows]``; called once for each guess.

        Returns:
            ``[rows, count]`` int32.
        """
        ...
