"""Sums over ranks, in one order.

Every collective waits for the one before it, whatever else they have to do with each other. So all ranks take part in
the same ones in the same order, as long as they ask for them in the same order: no graph of MLX may swap two of them.
"""

from __future__ import annotations

from collections.abc import Sequence

import mlx.core as mx

from mlxp_core.errors import SetupError
from mlxp_core.ranks.launch import Launch

HELLO_BYTES = 1024
"""Longest text that ranks exchange at the start."""


class Group:
    """All ranks, seen from one of them.

    Attributes:
        rank: this one.
        ranks: how many there are.
    """

    def __init__(self, group: mx.distributed.Group) -> None:
        """Begin with nothing asked for."""
        self._group = group
        self._last: mx.array | None = None
        self.rank, self.ranks = group.rank(), group.size()

    def sum(self, part: mx.array) -> mx.array:
        """Return the sum of all ranks' parts."""
        return self._noted(mx.distributed.all_sum(self._after_last(part), group=self._group))

    def gather(self, part: mx.array) -> mx.array:
        """Return all ranks' parts, ``[..., n]`` each, side by side: ``[..., ranks * n]``."""
        parts = self._noted(mx.distributed.all_gather(self._after_last(part)[None], group=self._group))
        return mx.moveaxis(parts, 0, -2).reshape(*part.shape[:-1], -1)  # [ranks, .., n] before

    def spread(self, array: mx.array) -> mx.array:
        """Return the first rank's array; that of the others only says of what shape and type it is."""
        return self.sum(array if self.rank == 0 else mx.zeros(array.shape, dtype=array.dtype))

    def exchange(self, said: bytes) -> list[bytes]:
        """Return what every rank says, in their order; waits for all.

        Raises:
            SetupError: it is too long, or a rank has gone.
        """
        if len(said) > HELLO_BYTES:
            raise SetupError(f"ranks exchange {HELLO_BYTES} bytes at most, not {len(said)}")
        padded = mx.array(list(said.ljust(HELLO_BYTES)), dtype=mx.uint8)
        try:
            heard = self.gather(padded).reshape(self.ranks, HELLO_BYTES).tolist()
        except RuntimeError as error:
            raise SetupError(f"the ranks have lost each other: {error}") from error
        self.forget()
        return [bytes(row).rstrip() for row in _rows(heard)]

    def forget(self) -> None:
        """Let what was asked for last be; for what is built only to be looked at."""
        self._last = None

    def _after_last(self, part: mx.array) -> mx.array:
        if self._last is None:
            return part
        after: mx.array = mx.depends([part], [self._last])[0]
        return after

    def _noted(self, array: mx.array) -> mx.array:
        self._last = array
        return array


def join_group(launch: Launch) -> Group:
    """Meet the other ranks; waits for them.

    Raises:
        SetupError: MLX lacks the back end, or the others do not come.
    """
    try:
        group = mx.distributed.init(strict=True, backend=launch.backend)
    except (RuntimeError, ValueError) as error:
        raise SetupError(
            f"rank {launch.rank} cannot join the others over {launch.backend}: {error}"
        ) from error
    if (group.rank(), group.size()) != (launch.rank, launch.ranks):
        raise SetupError(
            f"MLX says that this is rank {group.rank()} of {group.size()}; mlx.launch says {launch.rank} of "
            f"{launch.ranks}"
        )
    return Group(group)


def _rows(heard: object) -> Sequence[Sequence[int]]:
    assert isinstance(heard, list)  # noqa: S101  # of an array with two axes
    return heard
