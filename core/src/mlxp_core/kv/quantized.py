"""Keys and values in a few bits each.

A token is quantized when it is stored, and its own pass attends to it as stored. So a prompt gives the same keys and
the same answer however it is cut into chunks, and a row thawed from a snapshot goes on as if it had never been away.

There are two ways to attend, chosen by how many queries share a key, in ``QuantizedStore.attend`` and nowhere else:

*Direct*, for few: scores and sums are products with the packed arrays, which are read once and never unpacked. Scores
and softmax are float32, whatever the scales are.
*Unpacked*, for many: keys and values are unpacked, for this layer and this pass, and go to MLX's own attention. That
one builds all scores at once where it has no fused kernel; so that they stay bounded for long prompts, the queries go
in blocks.

What was measured, and by which command, is in docs/performance.md.
"""

from typing import cast

import mlx.core as mx

from mlxp_core.kv.masks import Mask, causal_mask
from mlxp_core.kv.store import Planes
from mlxp_core.types import KVStorage

DIRECT_ON_CPU = 8
"""Most queries per key for the direct way on a processor. Measured: ahead up to 4, level at 8, behind from 16 on."""

DIRECT_ON_METAL = 64
"""The same on Metal; not measured. Any decode step is below it, and a few tokens at once."""

DIRECT_ON_CUDA = 0
"""The same on CUDA, where MLX 0.32.4 refuses products with most numbers of slots, and gets some with few bits wrong."""

DIRECT = {"cpu": DIRECT_ON_CPU, "metal": DIRECT_ON_METAL, "cuda": DIRECT_ON_CUDA}
"""The same by back end, as a machine is described."""

MOST_SCORES = 2**27
"""Scores, of all rows and heads, that a block of queries may have on the unpacked way."""


class QuantizedStore:
    """Keeps keys and values packed: for each, ``uint32`` words, scales and biases, so six planes."""

    def __init__(
        self, storage: KVStorage, dtype: mx.Dtype, *, direct: int, most_scores: int = MOST_SCORES
    ) -> None:
        """Make a store.

        Args:
            storage: bits and group; the group divides every head.
            dtype: type of scales and biases.
            direct: most queries per key for the direct way.
            most_scores: scores that a block of queries may have on the other way.
        """
        self._bits, self._group = storage.bits, storage.group_size
        self._dtype = dtype
        self._direct, self._most_scores = direct, most_scores

    def pack(self, k: mx.array, v: mx.array) -> Planes:
        """Quantize both; see ``Store.pack``."""
        return (*self._packed(k), *self._packed(v))

    def attend(self, q: mx.array, held: Planes, *, scale: float, mask: Mask) -> mx.array:
        """Attend the way that is quicker; see ``Store.attend``."""
        keys, values = held[:3], held[3:]
        _, heads, width, _ = q.shape
        shared = heads // keys[0].shape[1]
        if shared * width <= self._direct:
            return self._attend_direct(q, keys, values, scale=scale, mask=mask)
        return self._attend_unpacked(q, keys, values, scale=scale, mask=mask)

    def _packed(self, new: mx.array) -> Planes:
        return cast(
            "Planes", tuple(mx.quantize(new.astype(self._dtype), group_size=self._group, bits=self._bits))
        )

    def _unpacked(self, planes: Planes) -> mx.array:
        words, scales, biases = planes
        return mx.dequantize(words, scales, biases, group_size=self._group, bits=self._bits)

    def _product(self, x: mx.array, planes: Planes, *, transpose: bool) -> mx.array:
        words, scales, biases = planes
        return mx.quantized_matmul(
            x, words, scales, biases, transpose=transpose, group_size=self._group, bits=self._bits
        )

    def _attend_direct(
        self, q: mx.array, keys: Planes, values: Planes, *, scale: float, mask: Mask
    ) -> mx.array:
        rows, heads, width, dim = q.shape
        _, kv_heads, slots, _ = keys[0].shape
        together = (rows, kv_heads, heads // kv_heads * width)  # queries that share a key head
        queries = (q.astype(mx.float32) * scale).reshape(*together, dim)
        scores = self._product(queries, keys, transpose=True)
        seen = causal_mask(width, slots) if mask == "causal" else mask
        if seen is not None:
            apart = scores.reshape(rows, kv_heads, -1, width, slots)
            scores = mx.where(seen[..., None, :, :], apart, -float("inf")).reshape(*together, slots)
        out = self._product(mx.softmax(scores, axis=-1), values, transpose=False)
        return out.reshape(rows, heads, width, -1).astype(q.dtype)

    def _attend_unpacked(
        self, q: mx.array, keys: Planes, values: Planes, *, scale: float, mask: Mask
    ) -> mx.array:
        rows, heads, width, _ = q.shape
        k, v, queries = self._unpacked(keys), self._unpacked(values), q.astype(self._dtype)
        slots = k.shape[2]
        block = max(1, self._most_scores // (rows * heads * slots))
        parts: list[mx.array] = []
        for start in range(0, width, block):
            end = min(start + block, width)
            seen = slots - width + end if mask == "causal" else slots
            part = mask if mask is None or mask == "causal" else mask[:, :, start:end]
            (some,) = mx.depends([queries[:, :, start:end]], parts[-1:])  # one block's scores after another's
            parts.append(
                mx.fast.scaled_dot_product_attention(
                    some, k[:, :, :seen], v[:, :, :seen], scale=scale, mask=part
                )
            )
        out = parts[0] if len(parts) == 1 else mx.concatenate(parts, axis=2)
        return out.astype(q.dtype)


def direct_limit(storage: KVStorage, dtype: mx.Dtype) -> int:
    """Return the most queries per key for the direct way on this device; 0 where MLX has no such product there.

    Raises:
        RuntimeError, ValueError: MLX cannot quantize so on this device at all.
    """
    store = QuantizedStore(storage, dtype, direct=1)
    head = mx.ones((1, 1, 1, storage.group_size))
    mx.eval(held := store.pack(head, head))
    try:
        mx.eval(store.attend(head, held, scale=1.0, mask=None))
    except RuntimeError:
        return 0
    if mx.default_device().type == mx.DeviceType.cpu:
        return DIRECT_ON_CPU
    return DIRECT_ON_METAL if mx.metal.is_available() else DIRECT_ON_CUDA
