"""The kinds of caches an operator can choose: plain ones, and quantized ones layer by layer."""

from collections.abc import Mapping, Sequence

import mlx.core as mx

from mlxp_core.kv.full import FullCache
from mlxp_core.kv.quantized import QuantizedStore, direct_limit
from mlxp_core.kv.recurrent import RecurrentCache
from mlxp_core.kv.sliding import SlidingCache
from mlxp_core.kv.store import PlainStore
from mlxp_core.types import RING_SLACK, KVStorage

SLACK = RING_SLACK


class PlainPolicy:
    """A ``KVPolicy`` that stores keys and values as they are."""

    def __init__(self, dtype: mx.Dtype, *, slack: int = SLACK) -> None:
        """Store keys and values as ``dtype``; let sliding layers go back by ``slack`` tokens."""
        self._store, self._slack = PlainStore(dtype), slack
        self._dtype = dtype

    @property
    def scheme(self) -> str:
        """Return the type of what is stored."""
        return dtype_name(self._dtype)

    def full(self, layer: int) -> FullCache:  # noqa: ARG002  # every layer alike
        """Return a cache for a layer that attends to everything before it."""
        return FullCache(self._store)

    def sliding(self, layer: int, window: int) -> SlidingCache:  # noqa: ARG002  # every layer alike
        """Return a cache for a layer that sees the last ``window`` tokens, itself included."""
        return SlidingCache(self._store, window, self._slack)

    def state(
        self,
        layer: int,  # noqa: ARG002  # every layer alike
        shapes: Sequence[tuple[int, ...]],
        dtypes: Sequence[mx.Dtype],
    ) -> RecurrentCache:
        """Return a cache for state of these shapes, without the row axis."""
        return RecurrentCache(shapes, dtypes)


class QuantizedPolicy:
    """A ``KVPolicy`` that quantizes the keys and values of some layers; state never."""

    def __init__(
        self,
        dtype: mx.Dtype,
        storages: Mapping[int, KVStorage],
        *,
        slack: int = SLACK,
        direct: int | None = None,
    ) -> None:
        """Choose.

        Args:
            dtype: type of scales and biases, and of what is stored as it is.
            storages: number of a layer -> how it is quantized; the group must divide its heads.
            slack: tokens by which a row of a sliding layer can always go back.
            direct: most queries per key for products with the packed arrays; ``None`` = what suits the device.
        """
        self._plain, self._slack = PlainPolicy(dtype, slack=slack), slack
        self.storages: Mapping[int, KVStorage] = dict(storages)
        self._stores = {
            storage: QuantizedStore(
                storage, dtype, direct=direct_limit(storage, dtype) if direct is None else direct
            )
            for storage in set(storages.values())
        }

    @property
    def scheme(self) -> str:
        """Return every layer's storage, runs of equal ones together: ``"float32; kv8-g64: 0-3; kv4-g64: 4 6"``."""
        layers: dict[str, list[int]] = {}
        for layer, storage in sorted(self.storages.items()):
            layers.setdefault(storage.label, []).append(layer)
        return "; ".join(
            [self._plain.scheme, *(f"{label}: {_runs(numbers)}" for label, numbers in layers.items())]
        )

    def full(self, layer: int) -> FullCache:
        """Return a cache for a layer that attends to everything before it."""
        storage = self.storages.get(layer)
        return self._plain.full(layer) if storage is None else FullCache(self._stores[storage])

    def sliding(self, layer: int, window: int) -> SlidingCache:
        """Return a cache for a layer that sees the last ``window`` tokens, itself included."""
        storage = self.storages.get(layer)
        if storage is None:
            return self._plain.sliding(layer, window)
        return SlidingCache(self._stores[storage], window, self._slack)

    def state(
        self, layer: int, shapes: Sequence[tuple[int, ...]], dtypes: Sequence[mx.Dtype]
    ) -> RecurrentCache:
        """Return a cache for state of these shapes, without the row axis; never quantized."""
        return self._plain.state(layer, shapes, dtypes)


def dtype_name(dtype: mx.Dtype) -> str:
    """Return the bare name of a type, such as ``bfloat16``."""
    return str(dtype).rpartition(".")[2]


def _runs(numbers: Sequence[int]) -> str:
    """Write sorted numbers as runs: ``0-3 7``."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and runs[-1][-1] == number - 1:
            runs[-1][1:] = [number]
        else:
            runs.append([number])
    return " ".join("-".join(map(str, run)) for run in runs)
