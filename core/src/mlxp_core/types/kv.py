"""How keys and values are kept, and what that costs; by arithmetic only."""

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct, field

KVMode = Literal["off", "config", "4", "8"]
"""``off`` = as the network makes them, ``config`` = as the model's kv_config.json says, else bits for all layers."""


class KVStorage(Struct, frozen=True):
    """Affine quantization along a head: ``bits`` a value; a scale and a bias for each ``group_size`` of them."""

    bits: int
    group_size: int

    @property
    def label(self) -> str:
        """Return a short name, such as ``kv4-g64``."""
        return f"kv{self.bits}-g{self.group_size}"


def kv_bytes(values: int, storage: KVStorage | None, value_bytes: int) -> int:
    """Return the bytes that ``values`` stored keys and values take.

    Args:
        values: how many; whole heads, so that groups come out even.
        storage: how they are quantized; ``None`` = kept as they are.
        value_bytes: bytes of one that is kept as it is, and of one scale or bias.

    Returns:
        ``values * value_bytes``, or ``values * (bits / 8 + 2 * value_bytes / group_size)``, rounded up.
    """
    if storage is None:
        return values * value_bytes
    packed = -(-values * storage.bits // 8)
    return packed + 2 * value_bytes * -(-values // storage.group_size)


class KVScheme(Struct, frozen=True, kw_only=True):
    """What was asked for, before any network is known.

    Attributes:
        mode: the setting it comes from.
        uniform: storage of every attention layer that ``layers`` does not name; its group is the largest to try, and
            halved where it does not divide a head. ``None`` = kept as they are.
        layers: number of a layer among the caches -> its storage, exactly.
        ends: under ``uniform``, so many attention layers at either end are kept as they are.
    """

    mode: KVMode = "off"
    uniform: KVStorage | None = None
    layers: Mapping[int, KVStorage] = field(default_factory=dict)
    ends: int = 0

    @property
    def plain(self) -> bool:
        """Say whether nothing is quantized, whatever the network."""
        return self.uniform is None and not self.layers


class KVInForce(Struct, frozen=True, kw_only=True):
    """How a loaded model's keys and values are kept.

    Attributes:
        mode: the setting.
        scheme: every layer's storage in one line; equal lines mean snapshots of one another's rows.
        layers: ``KVStorage.label``, or the type of what is kept as it is -> attention layers.
        full, sliding: attention layers that see everything before them, or a window.
        revocable: whether rows can go back into a pass, so that guesses can be tried.
    """

    mode: KVMode
    scheme: str
    layers: Mapping[str, int]
    full: int
    sliding: int
    revocable: bool = False


SLOT_STEP = 256
"""Slots are allocated in whole multiples of this many."""

RING_SLACK = 16
"""Tokens by which a row of a sliding layer can always go back, and so slots beyond its window."""


def slots_for(tokens: int, most: int | None = None) -> int:
    """Return how many slots a row has that holds ``tokens`` of a layer; never more than ``most``."""
    size = -(-tokens // SLOT_STEP) * SLOT_STEP
    return size if most is None else min(size, most)
