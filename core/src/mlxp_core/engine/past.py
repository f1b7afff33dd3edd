"""What was read before, and how rows go on from it. Lives on the engine thread.

A prompt is looked up when it is about to be read. What is known of its beginning is thawed, and reading goes on behind
it; the last token is read in any case, as its logits are wanted. While it is read, and when its row ends, checkpoints
are taken, so that the next one finds more.

Where every layer can go back to any token, one checkpoint serves all beginnings of its sequence: one is taken when the
prompt has been read, and one at the row's end. Where layers cannot (windows that have moved on, recurrent state), a
checkpoint serves its own place only. So the prompt is then read in chunks that end where other prompts of the
conversation are likely to part from it (``Prompt.boundaries``), and each leaves a checkpoint. Without boundaries, the
last whole chunk does.
"""

import os
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from collections.abc import Sequence as SequenceOf
from importlib.metadata import version

import mlx.core as mx
from msgspec import Struct
from msgspec.structs import replace

from mlxp_core import __version__
from mlxp_core.engine.faults import contained
from mlxp_core.engine.orders import LoadPlan
from mlxp_core.engine.sequence import Recalled, Sequence
from mlxp_core.engine.shelf import Shelf
from mlxp_core.kv import BatchCache, RowSnapshot
from mlxp_core.promptcache import (
    Namespace,
    Store,
    Tokens,
    explain,
    outside_images,
    prompt_key,
    weights_identity,
)
from mlxp_core.promptcache.pieces import Held, snapshots_of, take
from mlxp_core.types import EngineSettings, PromptCacheStats, Reuse

LEAST = 16
"""Tokens of the shortest checkpoint, and between two of one prompt."""

LEAD_IN = 32
"""Most tokens that a template writes between a conversation and its answer."""

RECENT = 32
"""Explanations that are kept."""


class Origin(Struct, frozen=True):
    """What the cache must know of a model.

    Attributes:
        weights: identity of its weights; see ``weights_identity``.
        spell: token -> its text, for explanations.
    """

    weights: str
    spell: Callable[[int], str] = str


def open_past(shelf: Shelf, plans: Mapping[str, LoadPlan], settings: EngineSettings) -> "Past":
    """Return the prompt cache that the settings ask for."""
    limit = settings.prompt_cache_bytes
    return Past(
        shelf,
        limit_bytes=usual_bytes() if limit is None else limit,
        origin=lambda model: origin_of(plans[model]),
        chunk=settings.prefill_chunk,
    )


def origin_of(plan: LoadPlan) -> Origin:
    """Return what tells the rows of one model from those of any other."""
    files = {tensor.file for tensor in plan.folder.tensors.values()}
    device = mx.default_device().type
    weights = weights_identity(
        [*files, plan.folder.path / "config.json"], plan.dtype, __version__, version("mlx"), str(device)
    )
    return Origin(weights, plan.spell)


def usual_bytes() -> int:
    """Return an eighth of the machine's memory."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 8


class Past:
    """Checkpoints of the models on the shelf.

    Attributes:
        stats: the numbers of this moment; ``None`` = nothing is ever kept.
    """

    def __init__(
        self,
        shelf: Shelf,
        *,
        limit_bytes: int,
        origin: Callable[[str], Origin] = Origin,
        chunk: int = 512,
    ) -> None:
        """Begin with nothing known.

        Args:
            shelf: has the models.
            limit_bytes: memory for checkpoints; 0 = keep none.
            origin: model id -> what must be known of it; asked once.
            chunk: tokens of a prompt read at once.
        """
        self._shelf = shelf
        self._store: Store[Held] = Store(limit_bytes)
        self._origin = origin
        self._origins: dict[str, Origin] = {}
        self._chunk = chunk
        self._hits = self._misses = self._hit_tokens = 0
        self._recent: deque[Reuse] = deque(maxlen=RECENT)
        self.stats: PromptCacheStats | None = None
        self._room: int | None = None
        self._count()

    def recall(self, sequence: Sequence) -> tuple[BatchCache, Recalled]:
        """Return a row that holds what is known of a prompt, and what to do with the rest."""
        prompt, key, namespace = sequence.order.prompt, key_of(sequence), self._namespace(sequence)
        found = self._store.find(
            namespace, key, len(key) - 1, fit=lambda length: outside_images(length, prompt.spans)
        )
        network = self._shelf[sequence.order.model]
        row = BatchCache(network.model.make_caches(network.policy))
        if found.value is not None:
            row = thawed(row, found.value, found.length)
        reuse = explain(
            key,
            cached=found.length,
            shared=found.shared,
            other=found.other,
            known=found.known,
            lost=self._store.lost(namespace, key, [b for b in prompt.boundaries if b > found.length]),
            message_ends=prompt.message_ends,
            spell=self._of(sequence.order.model).spell,
        )
        reuse = replace(reuse, request_id=sequence.request_id)
        self._note(reuse)
        return row, Recalled(found.length, self._stops(sequence, row, found.length), reuse)

    def keep_read(self, sequence: Sequence, cache: BatchCache) -> None:
        """Take a checkpoint of a prompt that is being read, if it will be of use where it stands."""
        (read,) = cache.lengths
        whole = read == len(sequence.prompt)
        if read in sequence.stops or (whole and can_return(cache, read)):
            self._keep(sequence, cache, 0)

    def keep_ended(self, rows: Iterable[tuple[Sequence, BatchCache, int]]) -> None:
        """Take checkpoints of what ended sequences have in caches, unless it may be half done."""
        for sequence, cache, row in rows:
            if sequence.ended and not sequence.spoilt:
                contained(self._keep, sequence, cache, row)

    def forget(self, *, adapter: str) -> None:
        """Drop everything that was read with an adapter; ``adapter`` is the key of its mount."""
        self._store.forget(lambda namespace: adapter in namespace.adapters)
        self._count()

    def give_room(self, room: int | None) -> None:
        """Hold at most ``room`` bytes until told otherwise, what is on its way included; ``None`` = the limit alone."""
        self._room = room
        if room is not None:
            self.shrink(room)

    def shrink(self, limit_bytes: int) -> None:
        """Give memory back, until at most so many bytes are held now; the limit stays as it was."""
        self._store.shrink(limit_bytes)
        self._count()

    def clear(self) -> None:
        """Forget everything."""
        self._store.forget(lambda _: True)
        self._count()

    def _keep(self, sequence: Sequence, cache: BatchCache, row: int) -> None:
        """Take a checkpoint of a row where it stands, or as far back as its tokens are known."""
        key = (*key_of(sequence), *sequence.taken)[: cache.lengths[row]]
        namespace = self._namespace(sequence)
        ours = self._store.limit_bytes > 0 and sequence.order.pool is None
        if not ours or len(key) < LEAST or self._store.touch(namespace, key):
            return
        if not cache.trim(row, cache.lengths[row] - len(key)):
            return
        if not self._has_room(cache.nbytes // cache.rows):
            return
        made = take(
            lambda starts: cache.freeze(row, starts).layers,
            len(key),
            cache.reached(row),
            self._store.relatives(namespace, key),
        )
        self._store.put(namespace, key, made)
        self._count()

    def _has_room(self, size: int) -> bool:
        """Make room for a checkpoint of at most ``size`` bytes, before it is made; false if there is none."""
        if self._room is None:
            return True
        if size > self._room:
            return False
        self._store.shrink(self._room - size)
        return True

    def _of(self, model: str) -> Origin:
        if model not in self._origins:
            self._origins[model] = self._origin(model)
        return self._origins[model]

    def _namespace(self, sequence: Sequence) -> Namespace:
        order = sequence.order
        scheme = self._shelf[order.model].policy.scheme
        return Namespace(self._of(order.model).weights, scheme, order.adapters)

    def _note(self, reuse: Reuse) -> None:
        self._recent.append(reuse)
        self._hits += reuse.cached > 0
        self._misses += reuse.cached == 0
        self._hit_tokens += reuse.cached
        self._count()

    def _count(self) -> None:
        if self._store.limit_bytes:
            self.stats = PromptCacheStats(
                hits=self._hits,
                misses=self._misses,
                hit_tokens=self._hit_tokens,
                entries=len(self._store),
                bytes=self._store.nbytes,
                limit_bytes=self._store.limit_bytes,
                recent=tuple(self._recent),
            )

    def _stops(self, sequence: Sequence, row: BatchCache, cached: int) -> tuple[int, ...]:
        """Return where reading should pause: nowhere, if any token can be gone back to from the row's end."""
        length = len(sequence.prompt)
        if can_return(row, length + sequence.max_tokens):
            return ()
        boundaries = sequence.order.prompt.boundaries
        if not boundaries:
            boundaries = (cached + (length - 1 - cached) // self._chunk * self._chunk,)
        elif length - boundaries[-1] > LEAD_IN:
            boundaries = (*boundaries, length - 1)  # nothing leads into the answer: history ends where the prompt does
        return spaced([place for place in boundaries if place > cached], cached)


def key_of(sequence: Sequence) -> Tokens:
    """Return what a sequence's prompt is known by."""
    prompt = sequence.order.prompt
    return prompt_key(prompt.tokens, prompt.spans, [image.digest for image in prompt.images])


def can_return(cache: BatchCache, reached: int) -> bool:
    """Say whether a row that has come so far could go back to any of its tokens, whatever it holds now."""
    return all(layer.can_trim(reached, reached) for layer in cache.layers)


def spaced(places: SequenceOf[int], after: int) -> tuple[int, ...]:
    """Leave out places close to the next one or to ``after``, but neither the first, the instructions, nor the last."""
    kept: list[int] = []
    for place in reversed(places):
        far = kept and kept[-1] - place >= LEAST and place - after >= LEAST
        if not kept or far or place == places[0]:
            kept.append(place)
    return tuple(reversed(kept))


def thawed(empty: BatchCache, known: Held, length: int) -> BatchCache:
    """Return a row that holds the first ``length`` tokens of a checkpoint, which it ``reaches``."""
    reached = known.reached if length == known.length else length
    return empty.thaw(RowSnapshot(snapshots_of(known, length), length, reached))
