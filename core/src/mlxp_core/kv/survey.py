"""What layers a network has and what they can do, found out by asking it for caches and, where need be, for one pass.

The pass is built and never computed: shapes are known without a number being known.
"""

from collections.abc import Sequence

import mlx.core as mx
from msgspec import Struct

from mlxp_core.contracts import LanguageModel
from mlxp_core.kv.batch import BatchCache, forward
from mlxp_core.kv.full import FullCache
from mlxp_core.kv.masks import Mask
from mlxp_core.kv.recurrent import RecurrentCache
from mlxp_core.kv.sliding import SlidingCache
from mlxp_core.kv.store import Planes


class AttentionLayer(Struct, frozen=True):
    """One layer that keeps keys and values.

    Attributes:
        number: its number among the caches, as the network gives it to its policy.
        window: tokens it sees; ``None`` = all.
        heads: sizes of its keys and of its values; empty when no pass was asked for, or none reached the layer.
    """

    number: int
    window: int | None
    heads: tuple[int, ...] = ()


class _Witness:
    """A ``Store`` that notes the sizes of heads and computes nothing."""

    def __init__(self, number: int, window: int | None) -> None:
        self._number, self._window = number, window
        self._heads: tuple[int, ...] = ()

    @property
    def seen(self) -> AttentionLayer:
        return AttentionLayer(self._number, self._window, self._heads)

    def pack(self, k: mx.array, v: mx.array) -> Planes:
        self._heads = (k.shape[-1], v.shape[-1])
        return k, v

    def attend(self, q: mx.array, held: Planes, *, scale: float, mask: Mask) -> mx.array:  # noqa: ARG002  # as Store has it
        return mx.zeros((*q.shape[:3], held[1].shape[-1]), dtype=q.dtype)


class _Surveyor:
    """A ``KVPolicy`` that remembers what it was asked for."""

    scheme = "none"

    def __init__(self) -> None:
        self.witnesses: list[_Witness] = []

    def full(self, layer: int) -> FullCache:
        return FullCache(self._witness(layer, None))

    def sliding(self, layer: int, window: int) -> SlidingCache:
        return SlidingCache(self._witness(layer, window), window, 0)

    def state(
        self,
        layer: int,  # noqa: ARG002  # of no interest here
        shapes: Sequence[tuple[int, ...]],
        dtypes: Sequence[mx.Dtype],
    ) -> RecurrentCache:
        return RecurrentCache(shapes, dtypes)

    def _witness(self, layer: int, window: int | None) -> _Witness:
        witness = _Witness(layer, window)
        self.witnesses.append(witness)
        return witness


def survey(model: LanguageModel, *, heads: bool) -> tuple[AttentionLayer, ...]:
    """Return the attention layers of a network.

    Args:
        model: the network.
        heads: whether sizes of heads are asked for, too; builds one pass.
    """
    surveyor = _Surveyor()
    cache = BatchCache(model.make_caches(surveyor))
    if heads:
        forward(model, cache, mx.zeros((1, 1), dtype=mx.int32))
    return tuple(witness.seen for witness in surveyor.witnesses)


def can_revoke(model: LanguageModel) -> bool:
    """Say whether rows of a network can go back into a pass that said they may; builds one pass."""
    cache = BatchCache(model.make_caches(_Surveyor()))
    forward(model, cache, mx.zeros((1, 2), dtype=mx.int32), revocable=True)
    return cache.trim(0, 1)
