"""Where tokens stand: on one axis for text, on three (time, row, column) for images.

Text stands at the same place on all three axes, so that it is turned like any other rotary network. An image whose
first token stands at ``p`` has its soft tokens at ``(p + frame, p + row, p + column)``, and the text behind it goes on
at ``p + max(frames, rows, columns)``. An image of many tokens thus takes few places: from there on a token stands
``shift`` places beside its number in the sequence. The shift belongs to the row and outlives the pass, so it is kept
in a cache. A row without images has none, and costs nothing.
"""

from collections.abc import Callable, Sequence
from typing import Self

import mlx.core as mx
from msgspec import Struct

from mlxp_core.contracts import ImageSpan, Inputs, Snapshot
from mlxp_qwen35.config import Rotary

AXES = 3


class Places(Struct, frozen=True):
    """Where the tokens of a pass stand.

    Attributes:
        offset: ``[rows]`` int32, where the first token of each row stands.
        axes: ``[rows, 3, width]`` int32, every token's place in time, row and column; ``None`` = each token stands
            one place behind the one before, on all axes.
    """

    offset: mx.array
    axes: mx.array | None = None


class ShiftCache:
    """A ``LayerCache`` that keeps, for each row, how far its next token stands beside its number."""

    def __init__(self, shift: mx.array | None = None) -> None:
        """Make one row, shifted by ``shift``, ``[1]`` int32; ``None`` = it has seen no image."""
        self._shift = shift  # [rows]; None = no row has seen an image
        # For each row, where its shift holds from; None = that is known with the next pass.
        self._since: list[int | None] = [0 if shift is None else None]

    def place(self, inputs: Inputs) -> Places:
        """Return where the tokens of a pass stand, and remember what its images shift."""
        at = inputs.at
        offset = at.offset if self._shift is None else at.offset + self._shift
        self._since = [
            start if since is None else since for since, start in zip(self._since, at.starts, strict=True)
        ]
        if not any(inputs.images):
            return Places(offset)
        for row, spans in enumerate(inputs.images):
            if spans:
                self._since[row] = at.starts[row] + at.counts[row]
        laid = [
            lay_out(start, count, at.width, spans)
            for start, count, spans in zip(at.starts, at.counts, inputs.images, strict=True)
        ]
        more = mx.array([shift for _, shift in laid], dtype=mx.int32)
        self._shift = more if self._shift is None else self._shift + more
        axes = mx.array([axes for axes, _ in laid], dtype=mx.int32)
        return Places(offset, offset[:, None, None] + axes)

    def join(self, other: Self) -> None:
        """Append the rows of ``other``."""
        if self._shift is not None or other._shift is not None:
            self._shift = mx.concatenate([self._known(), other._known()])
        self._since += other._since

    def keep(self, rows: Sequence[int]) -> None:
        """Keep only these rows, in this order."""
        if self._shift is not None:
            self._shift = self._shift[mx.array(list(rows), dtype=mx.int32)]
        self._since = [self._since[row] for row in rows]

    def can_trim(self, row: int, to: int, reached: int) -> bool:  # noqa: ARG002  # the contract's signature
        """Say yes as far as the row's last image: a row that went back into it, or behind it, would keep its shift."""
        since = self._since[row]
        return since is not None and to >= since

    def trim(self, row: int, to: int) -> None:
        """Do nothing: the shift is as it was."""

    def mark(self) -> Callable[[], None]:
        """Return what puts the shifts back that there are now."""
        shift, since = self._shift, list(self._since)

        def back() -> None:
            self._shift, self._since = shift, since

        return back

    def freeze(self, row: int, length: int, start: int = 0) -> Snapshot:  # noqa: ARG002  # the contract's signature
        """Return a copy of a row's shift."""
        if self._shift is None:
            return Snapshot(arrays=(), nbytes=0)
        shift = mx.contiguous(self._shift[row : row + 1])
        return Snapshot(arrays=(shift,), nbytes=shift.nbytes)

    def thaw(self, snapshot: Snapshot) -> Self:
        """Return a one-row cache that holds ``snapshot``."""
        return type(self)(*snapshot.arrays)

    @property
    def nbytes(self) -> int:
        """Return the bytes allocated now."""
        return 0 if self._shift is None else self._shift.nbytes

    def _known(self) -> mx.array:
        return mx.zeros((len(self._since),), dtype=mx.int32) if self._shift is None else self._shift


def lay_out(start: int, count: int, width: int, spans: Sequence[ImageSpan]) -> tuple[list[list[int]], int]:
    """Place the tokens of one row's pass, counted from where its first token would stand as text.

    A pass may begin or end within an image; the image shifts what follows in the pass that holds its last token.

    Args:
        start: number of the pass's first token in the sequence.
        count: real tokens of the pass.
        width: tokens of the pass, padding included.
        spans: the images that overlap the pass.

    Returns:
        Three lists of ``width`` places (time, row, column), and what the images of the pass shift.
    """
    axes = [list(range(width)) for _ in range(AXES)]
    shift = 0
    for span in sorted(spans, key=lambda span: span.start):
        first, end = span.start - start, span.start - start + span.count
        base = first + shift
        for token in range(max(first, 0), min(end, count)):
            for axis, place in zip(axes, _within(token - first, span.grid), strict=True):
                axis[token] = base + place
        if 0 < end <= count:
            shift += max(span.grid) - span.count
            for axis in axes:
                axis[end:] = [token + shift for token in range(end, width)]
    return axes, shift


def _within(token: int, grid: tuple[int, int, int]) -> tuple[int, int, int]:
    """Return frame, row and column of a soft token."""
    _, rows, columns = grid
    frame, rest = divmod(token, rows * columns)
    return frame, *divmod(rest, columns)


Turn = Callable[[mx.array], mx.array]
"""Turns ``[rows, heads, width, head_dim]`` by the places of a pass."""


class AxialRope:
    """Rotary positions (Su et al.: "RoFormer", 2021) on three axes by turns: time, row, column, time, row, ..

    The first ``dims`` dimensions of a head are turned, pair ``(j, j + dims / 2)`` by
    ``place * theta ** (-2 j / dims)``. Frequency ``j`` takes the row if ``j % 3 == 1`` and the column if
    ``j % 3 == 2``, as long as ``j`` is below three times the axis' section; all others take the time.
    """

    def __init__(self, rotary: Rotary) -> None:
        """Turn as the configuration says."""
        self._dims, self._base = rotary.dims, rotary.theta
        self._axis = [_axis_of(j, rotary.sections) for j in range(rotary.dims // 2)]

    def turn(self, places: Places) -> Turn:
        """Return what turns heads by the places of a pass."""
        if places.axes is None:
            return lambda x: self._along_one(x, places.offset)
        angles = self._angles(places.axes)
        cos, sin = mx.cos(angles), mx.sin(angles)
        return lambda x: _turned(x, cos, sin)

    def _along_one(self, x: mx.array, offset: mx.array) -> mx.array:
        return mx.fast.rope(x, self._dims, traditional=False, base=self._base, scale=1.0, offset=offset)

    def _angles(self, axes: mx.array) -> mx.array:
        """Return ``[rows, 1, width, dims / 2]``."""
        half = self._dims // 2
        frequencies = self._base ** (mx.arange(half, dtype=mx.float32) * (-1 / half))
        chosen = axes[:, mx.array(self._axis)].swapaxes(1, 2)  # [rows, width, dims / 2]
        return (chosen.astype(mx.float32) * frequencies)[:, None]


def _axis_of(frequency: int, sections: tuple[int, int, int]) -> int:
    axis = frequency % AXES
    return axis if frequency < AXES * sections[axis] else 0


def _turned(x: mx.array, cos: mx.array, sin: mx.array) -> mx.array:
    half = cos.shape[-1]
    a, b, rest = mx.split(x, [half, 2 * half], axis=-1)
    turned = [a * cos - b * sin, b * cos + a * sin]
    return mx.concatenate([*(part.astype(x.dtype) for part in turned), rest], axis=-1)
