"""What a served model takes, from its ``Need`` and from how its weights, keys and values are kept.

Weights come from the files. What rows hold follows the caches exactly: slots in steps, a ring of window and slack, the
active storage of each layer, nothing where layers share. Every row of a batch has the slots of its longest one
(``docs/decisions/0002-right-padded-batches.md``), so rows are counted by the longest.

What passes allocate and give back is bounded from above, by formulas fitted to ``benchmarks/bench_memory.py``:

- a chunk: ``passing`` bytes for each token; the scores of one layer, ``queries * tokens * keys`` values, where the
  device does not fuse attention; a byte of mask for each pair of token and key;
- keys and values in a few bits are unpacked, one layer at a time: for the prompt that is read, and in a step for all
  rows, unless so few queries share a key that the device multiplies with what is packed;
- an image: what its tower's ``ImageNeed`` says, before the chunk that it is in;
- a draw: ``DRAW_COPIES`` float32 copies of the logits of each row;
- growing, joining, leaving: one layer is copied at a time, so the largest layer of all rows once more;
- state is computed anew by each pass: the largest one of all rows, ``STATE_COPIES`` times.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from mlxp_core.types import RING_SLACK, ImageNeed, KVStorage, LayerNeed, Machine, Need, kv_bytes, slots_for

DRAW_COPIES = 10
"""Most float32 copies of a row's logits while it is drawn: measured 9.6, with ``top_p`` and nothing else."""

STATE_COPIES = 4
"""Most copies of a layer's state while a token is decoded: measured 3.1, and one more when rows join or leave."""

FEATURE_BYTES = 128 * 2**20
"""Bytes of image features that are kept: some 30 images of 280 tokens and 4096 numbers in float32."""

FLOAT32_BYTES = 4
MASK_BYTES = 1
_FUSED_ON_METAL = frozenset({64, 80, 128})
_WIDEST_FUSED_ON_CUDA = 128


class Slots(Struct, frozen=True):
    """Caches that grow alike: bytes of a slot in all of them, and the most slots they have."""

    nbytes: int
    most: int | None


class Scores(Struct, frozen=True):
    """Scores of attention that are built at once: bytes for each pair of token and key, and how far back keys go."""

    nbytes: int
    window: int | None


class Unpacked(Struct, frozen=True):
    """Keys and values that are packed: bytes of a slot unpacked, the most slots, and whether a step goes without."""

    nbytes: int
    most: int | None
    stepping: bool


class Look(Struct, frozen=True):
    """An image that is looked at: bytes for each soft token, for each pair of them, and the most that pairs take."""

    each: int
    pair: int
    most: int | None


class Footprint(Struct, frozen=True, kw_only=True):
    """Bytes of a model that is served.

    Attributes:
        weights: its parameters as they are in memory.
        eyes: parameters of its vision tower and features that are kept; 0 = it does not see.
        adapters: matrices of those that are mounted; see ``adapted``.
        value_bytes: of one number as the network computes.
        read_share: part of the weights that one token visits.
        slots: caches by how they grow.
        largest: bytes of a slot in the largest cache.
        fixed: bytes of a row that do not grow.
        state: of those, the largest cache's.
        passing: of a pass, for each of its tokens.
        transient: of a pass, whatever its width.
        scores: of those layers that build them.
        unpacked: of those layers whose keys and values are packed.
        vocabulary: numbers in the logits of a row.
        look: of an image; ``None`` = it does not see, or nobody counts.
    """

    weights: int
    eyes: int = 0
    adapters: int = 0
    value_bytes: int = FLOAT32_BYTES
    read_share: float = 1.0
    slots: tuple[Slots, ...] = ()
    largest: int = 0
    fixed: int = 0
    state: int = 0
    passing: int = 0
    transient: int = 0
    scores: tuple[Scores, ...] = ()
    unpacked: tuple[Unpacked, ...] = ()
    vocabulary: int = 0
    look: Look | None = None

    @property
    def held(self) -> int:
        """Return what is taken before anybody asks anything."""
        return self.weights + self.eyes + self.adapters

    def adapted(self, numbers: Sequence[int]) -> Footprint:
        """Return the same with adapters mounted, and no others, each of so many numbers.

        Where there are several, all of them are counted twice: those that take part in a pass together are kept joined.
        """
        size = sum(numbers) * self.value_bytes
        return replace(self, adapters=size if len(numbers) < 2 else 2 * size)  # noqa: PLR2004  # one is joined to none

    def beside(self, other: Footprint) -> Footprint:
        """Return the same with another network that reads all that this one reads, behind it."""
        weights = self.weights + other.weights
        return replace(
            self,
            weights=weights,
            read_share=self.read_share * self.weights / weights if weights else 1.0,  # what this one visits
            slots=(*self.slots, *other.slots),
            largest=max(self.largest, other.largest),
            fixed=self.fixed + other.fixed,
            state=max(self.state, other.state),
            passing=max(self.passing, other.passing),  # their passes come one after the other
            transient=max(self.transient, other.transient),
            scores=(*self.scores, *other.scores),
            unpacked=(*self.unpacked, *other.unpacked),
            vocabulary=max(self.vocabulary, other.vocabulary),
        )

    def row(self, tokens: int) -> int:
        """Return what one row holds when its batch has slots for ``tokens``."""
        return self.fixed + sum(kind.nbytes * slots_for(tokens, kind.most) for kind in self.slots)

    def chunk(self, tokens: int, keys: int) -> int:
        """Return the peak of reading ``tokens`` of a prompt that see ``keys`` keys, themselves included."""
        return self._pass(tokens, keys) + self._unpacking(self.unpacked, 1, keys)

    def looking(self, tokens: int) -> int:
        """Return the peak of looking at an image of ``tokens`` soft tokens; 0 without any."""
        if self.look is None:
            return 0
        pairs = self.look.pair * tokens**2
        return self.look.each * tokens + (pairs if self.look.most is None else min(pairs, self.look.most))

    def step(self, rows: int, keys: int) -> int:
        """Return the peak of a pass over one token of each row, which see ``keys`` keys each."""
        return self._pass(rows, keys) + self._unpacking([k for k in self.unpacked if k.stepping], rows, keys)

    def _pass(self, tokens: int, keys: int) -> int:
        seen = max((kind.nbytes * _seen(kind, tokens, keys) for kind in self.scores), default=0)
        return self.transient + tokens * (self.passing + seen + MASK_BYTES * keys)

    def _unpacking(self, kinds: Sequence[Unpacked], rows: int, keys: int) -> int:
        return rows * max((kind.nbytes * slots_for(keys, kind.most) for kind in kinds), default=0)

    def draw(self, rows: int) -> int:
        """Return the peak of drawing one token for each row."""
        return rows * self.vocabulary * FLOAT32_BYTES * DRAW_COPIES

    def moving(self, rows: int, tokens: int) -> int:
        """Return what is held twice while one layer grows, or rows join or leave, and while states change."""
        return rows * (self.largest * slots_for(tokens) + self.state * STATE_COPIES)


def footprint(
    need: Need,
    machine: Machine,
    *,
    weights: int,
    value_bytes: int,
    vocabulary: int,
    storages: Mapping[int, KVStorage] | None = None,
    eyes: int = 0,
    slack: int = RING_SLACK,
    direct: int = 0,
    look: Look | None = None,
) -> Footprint:
    """Return what a model takes.

    Args:
        need: by its family, for ``value_bytes``.
        machine: what it runs on.
        weights: bytes of its parameters as they will be in memory.
        value_bytes: of one number as the network computes.
        vocabulary: number of logits.
        storages: ``LayerNeed.number`` -> how the layer's keys and values are quantized.
        eyes: bytes of its vision tower and of features that are kept.
        slack: slots of a ring beyond its window.
        direct: most queries that may share a packed key for the device to multiply with it as it is.
        look: what looking at an image takes; see ``look_of``.
    """
    per_slot: dict[int | None, int] = defaultdict(int)
    largest = need.per_token
    if need.per_token:
        per_slot[None] = need.per_token
    for layer in need.layers:
        if not layer.heads:
            continue
        size = kv_bytes(layer.values, (storages or {}).get(layer.number), value_bytes)
        per_slot[None if layer.window is None else layer.window + slack] += size
        largest = max(largest, size)
    return Footprint(
        weights=weights,
        eyes=eyes,
        value_bytes=value_bytes,
        read_share=1 - need.idle / need.weights if need.weights else 1.0,
        slots=tuple(Slots(nbytes, most) for most, nbytes in per_slot.items()),
        largest=largest,
        fixed=need.fixed + sum(layer.state for layer in need.layers),
        state=max((layer.state for layer in need.layers), default=0),
        passing=need.passing,
        transient=need.transient,
        scores=_scores(need.layers, machine, value_bytes),
        unpacked=_unpacked(need.layers, storages or {}, value_bytes, slack=slack, direct=direct),
        vocabulary=vocabulary,
        look=look,
    )


def look_of(need: ImageNeed, machine: Machine, value_bytes: int) -> Look:
    """Return what looking at an image takes on a machine, in numbers of ``value_bytes``."""
    kept = need.heads and not fuses(machine, need.dim, value_bytes)
    return Look(
        each=need.passing * value_bytes,
        pair=need.heads * need.patches**2 * value_bytes if kept else 0,
        most=None if need.scores is None else need.scores * value_bytes,
    )


def fuses(machine: Machine, dim: int, value_bytes: int) -> bool:
    """Say whether attention over heads of this size builds no scores, by MLX's kernels for prompts.

    On a processor it always builds them. CUDA's fused kernel takes 16-bit heads of at most 128 dimensions, in steps of
    8.
    """
    match machine.backend:
        case "metal":
            return dim in _FUSED_ON_METAL
        case "cuda":
            return value_bytes < FLOAT32_BYTES and dim <= _WIDEST_FUSED_ON_CUDA and dim % 8 == 0
        case _:
            return False


def _scores(layers: Sequence[LayerNeed], machine: Machine, value_bytes: int) -> tuple[Scores, ...]:
    widest: dict[int | None, int] = {}
    for layer in layers:
        if layer.queries and not fuses(machine, layer.key_dim, value_bytes):
            widest[layer.window] = max(widest.get(layer.window, 0), layer.queries * value_bytes)
    return tuple(Scores(nbytes, window) for window, nbytes in widest.items())


def _unpacked(
    layers: Sequence[LayerNeed],
    storages: Mapping[int, KVStorage],
    value_bytes: int,
    *,
    slack: int,
    direct: int,
) -> tuple[Unpacked, ...]:
    kinds = (
        Unpacked(
            layer.values * value_bytes,
            None if layer.window is None else layer.window + slack,
            stepping=layer.queries > direct * layer.heads,
        )
        for layer in layers
        if layer.heads and layer.number in storages
    )
    return tuple(dict.fromkeys(kinds))


def _seen(kind: Scores, tokens: int, keys: int) -> int:
    """Return the keys whose scores are built: a ring's are those of its window and of the pass beside it."""
    return keys if kind.window is None else min(keys, kind.window + tokens)
