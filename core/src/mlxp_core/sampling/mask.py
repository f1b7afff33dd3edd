"""Constraints' bitmasks, put over the logits of the rows they belong to."""

import math
from collections.abc import Mapping

import mlx.core as mx

from mlxp_core.errors import EngineFault
from mlxp_core.sampling.rows import Rows


def forbid(logits: mx.array, masks: Mapping[int, bytes]) -> mx.array:
    """Set to minus infinity what the masks do not allow; rows without a mask stay as they are.

    Args:
        logits: ``[rows, n]``.
        masks: row -> bitmask, bit ``t % 8`` of byte ``t // 8`` for token ``t``; bits that are missing forbid, bits
            beyond ``n`` are not looked at.

    Raises:
        EngineFault: a mask allows none of the ``n`` tokens.
    """
    if not masks:
        return logits
    batch, length = logits.shape
    packed = b"".join(_fitted(row, mask, length) for row, mask in masks.items())
    allowed = _unpack(packed, len(masks))[:, :length]
    return Rows(tuple(masks), batch).edit(logits, lambda rows: mx.where(allowed, rows, -math.inf))


def _fitted(row: int, mask: bytes, length: int) -> bytes:
    """Return the mask as exactly the bytes that ``length`` tokens need."""
    size = -(-length // 8)
    fitted = mask[:size].ljust(size, b"\0")
    spare = 8 * size - length
    if not any(fitted[:-1]) and not fitted[-1] & (0xFF >> spare):
        raise EngineFault(
            f"row {row}: the constraint allows none of {length} tokens; a bitmask must not be empty"
        )
    return fitted


def _unpack(packed: bytes, rows: int) -> mx.array:
    """Return the bits as ``[rows, bits]`` bool, lowest bit of each byte first."""
    octets = mx.array(memoryview(packed))  # type: ignore[arg-type]  # the stubs do not know of buffers
    octets = octets.reshape(rows, -1, 1)
    bits = mx.right_shift(octets, mx.arange(8, dtype=mx.uint8)) & 1
    return bits.astype(mx.bool_).reshape(rows, -1)
