"""Where the rows of a batch stand in one forward pass."""

from collections.abc import Callable, Hashable, Sequence
from typing import Any, TypeVar, cast

import mlx.core as mx

Made = TypeVar("Made")


class BatchPositions:
    """Lengths on the host and on the device, and what the layers of one pass share.

    Attributes:
        starts: tokens each row holds before this pass.
        counts: real new tokens of each row, ``0 .. width``.
        width: tokens per row in this pass, padding included.
        offset: ``starts`` on the device, ``[rows]`` int32.
        valid: ``[rows, width]`` bool, true for real tokens; ``None`` when all are real.
        revocable: whether rows may go back into this pass afterwards.
    """

    __slots__ = ("_made", "counts", "offset", "revocable", "starts", "valid", "width")

    def __init__(
        self, starts: Sequence[int], counts: Sequence[int], width: int, *, revocable: bool = False
    ) -> None:
        """Place ``width`` tokens after the ``starts`` of the rows, of which ``counts`` are real."""
        self.starts = tuple(starts)
        self.counts = tuple(counts)
        self.width = width
        self.revocable = revocable
        if not self.starts or len(self.counts) != len(self.starts):
            raise ValueError(f"counts for {len(self.counts)} rows, but the batch has {len(self.starts)}")
        if width < 1 or not all(0 <= count <= width for count in self.counts):
            raise ValueError(f"counts {self.counts} do not fit a pass of width {width}")
        self.offset: mx.array = mx.array(self.starts, dtype=mx.int32)
        self.valid: mx.array | None = None
        if any(count < width for count in self.counts):
            self.valid = mx.arange(width) < mx.array(self.counts, dtype=mx.int32)[:, None]
        self._made: dict[Hashable, Any] = {}

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.starts)

    def once(self, key: Hashable, make: Callable[[], Made]) -> Made:
        """Return what ``make`` returns, made once in this pass for each ``key``."""
        if key not in self._made:
            self._made[key] = make()
        return cast("Made", self._made[key])
