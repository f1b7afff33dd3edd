"""What was read before, and how rows go on from it. Lives on the engine thread.

A prompt is looked up when it is about to be read. What is known of its beginning is thawed, and reading goes on behind
it; the last token is read in any case, as its logits are wanted. While it is read, and when its row ends, checkpoints
are taken, so that the next one finds more.

Where every layer can go back to any token, one checkpoint serves all beginnings of its sequence: one is taken when the
prompt has been read, and one at the row's end. Where layers cannot (windows that have moved on, recurrent state), a
checkpoint serves its own place only. So the prompt is then read in chunks that end where other prompts of the
conversation are likely to part from it (``Prompt.boundaries``), and each leaves a checkpoint. Without boundaries, the
last whole chunk does.

Before a model's first hit it is tried whether its rows go on as they should (see ``trial``); if not, nothing of it is
reused. Where there is a folder, checkpoints are written to it and found in it, too; a row that others would wait for
does not wait for the disk.
"""

from collections import deque
from collections.abc import Callable, Iterable, Mapping

import mlx.core as mx
from msgspec.structs import replace

from mlxp_core.engine.faults import contained
from mlxp_core.engine.orders import LoadPlan, Mount, Unmount
from mlxp_core.engine.origins import Origin, origin_of, usual_bytes
from mlxp_core.engine.pauses import LEAST, pauses
from mlxp_core.engine.sequence import Recalled, Sequence
from mlxp_core.engine.shelf import Shelf
from mlxp_core.engine.trial import Trials
from mlxp_core.kv import BatchCache, RowSnapshot
from mlxp_core.loading.network import Network
from mlxp_core.promptcache import Found, Namespace, Tokens, explain, off, outside_images, prompt_key
from mlxp_core.promptcache.pieces import Held, snapshots_of, take
from mlxp_core.promptcache.tiers import Tiers
from mlxp_core.types import EngineSettings, PromptCacheStats, Reuse

RECENT = 32
"""Explanations that are kept."""


def open_past(shelf: Shelf, plans: Mapping[str, LoadPlan], settings: EngineSettings) -> "Past":
    """Return the prompt cache that the settings ask for."""
    limit = settings.prompt_cache_bytes
    tiers = Tiers(
        usual_bytes() if limit is None else limit, settings.prompt_cache_dir, settings.prompt_cache_disk_bytes
    )
    return Past(
        shelf, tiers=tiers, origin=lambda model: origin_of(plans[model]), chunk=settings.prefill_chunk
    )


class Past:
    """Checkpoints of the models on the shelf.

    Attributes:
        stats: the numbers of this moment; ``None`` = nothing is ever kept.
    """

    def __init__(
        self,
        shelf: Shelf,
        *,
        tiers: Tiers | None = None,
        origin: Callable[[str], Origin] = Origin,
        chunk: int = 512,
    ) -> None:
        """Begin with nothing known.

        Args:
            shelf: has the models.
            tiers: where checkpoints are kept; ``None`` = nowhere.
            origin: model id -> what must be known of it; asked once.
            chunk: tokens of a prompt read at once.
        """
        self._shelf = shelf
        self._tiers = tiers or Tiers(0)
        self._store = self._tiers.memory
        self._origin = origin
        self._origins: dict[str, Origin] = {}
        self._adapters: dict[str, str] = {}  # key of a mount -> identity of its files
        self._chunk = chunk
        self._trials = Trials()
        self._hits = self._misses = self._hit_tokens = 0
        self._recent: deque[Reuse] = deque(maxlen=RECENT)
        self.stats: PromptCacheStats | None = None
        self._room: int | None = None
        self._count()

    def recall(self, sequence: Sequence, *, wait: bool = True) -> tuple[BatchCache, Recalled] | None:
        """Return a row that holds what is known of a prompt, and what to do with the rest.

        Args:
            sequence: whose prompt it is.
            wait: for the disk; otherwise the answer may be ``None``, and is to be asked for again.
        """
        prompt, key, model = sequence.order.prompt, key_of(sequence), sequence.order.model
        found = self._tiers.find(
            self._namespace(sequence),
            key,
            len(key) - 1,
            fit=lambda length: outside_images(length, prompt.spans),
            wait=wait,
        )
        if found is None:
            return None
        row = empty_row(self._shelf[model])
        reuse = self._explained(sequence, found)
        if found.value is not None:
            fault = self._try(model)
            if fault is None:
                row = thawed(row, found.value, found.length)
            else:
                reuse = off(len(key), fault)
        reuse = replace(reuse, request_id=sequence.request_id)
        self._note(reuse)
        return row, Recalled(reuse.cached, self._stops(sequence, row, reuse.cached), reuse)

    def rest(self) -> None:
        """Do what is better done while nothing else is to be done."""
        for model in tuple(self._trials.due):
            if model in self._shelf:
                self._try(model)
        if self._tiers.disk is not None:
            mx.synchronize()
            self.tend(idle=True)

    def tend(self, *, idle: bool = False) -> None:
        """See after the disk; called when the device has done all it was given before the last call, or ``idle``."""
        if self._tiers.tend(idle=idle):
            self._count()

    def close(self, patience_s: float = 5.0) -> None:
        """Write what has not been written, as far as patience goes, and forget everything."""
        self._tiers.close(patience_s)

    def keep_read(self, sequence: Sequence, cache: BatchCache) -> None:
        """Take a checkpoint of a prompt that is being read, if it will be of use where it stands."""
        (read,) = cache.lengths
        whole = read == len(sequence.prompt)
        if read in sequence.stops or (whole and can_return(cache, read)):
            self._keep(sequence, cache, 0)

    def keep_ended(self, rows: Iterable[tuple[Sequence, BatchCache, int]]) -> None:
        """Take checkpoints of what ended sequences have in caches, unless it may be half done.

        A row stays in its batch until the others step; by then, adapters that it took may have gone.
        """
        for sequence, cache, row in rows:
            there = self._adapters.keys() >= set(sequence.order.adapters)
            if sequence.ended and not sequence.spoilt and there:
                contained(self._keep, sequence, cache, row)

    def note(self, message: Mount | Unmount) -> None:
        """Take note that an adapter is there; or drop everything in memory that was read with one that is gone."""
        match message:
            case Mount(key=key, folder=folder):
                self._adapters[key] = folder.identity
            case Unmount(key=key):
                gone = self._adapters.pop(key)
                self._store.forget(lambda namespace: gone in namespace.adapters)
                self._count()

    def forget_all(self) -> None:
        """Drop everything in memory; what is on disk had been computed before it was written."""
        self._store.forget(lambda _: True)
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

    def _keep(self, sequence: Sequence, cache: BatchCache, row: int) -> None:
        """Take a checkpoint of a row where it stands, or as far back as its tokens are known."""
        key = (*key_of(sequence), *sequence.taken)[: cache.lengths[row]]
        namespace = self._namespace(sequence)
        ours = self._store.limit_bytes > 0 and sequence.order.pool is None
        ours = ours and sequence.order.model not in self._trials.faults
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
        self._tiers.put(namespace, key, made)
        self._count()

    def _explained(self, sequence: Sequence, found: Found[Held]) -> Reuse:
        prompt, key = sequence.order.prompt, key_of(sequence)
        missed = [place for place in prompt.boundaries if place > found.length]
        return explain(
            key,
            cached=found.length,
            shared=found.shared,
            other=found.other,
            known=found.known,
            lost=self._store.lost(self._namespace(sequence), key, missed),
            message_ends=prompt.message_ends,
            spell=self._of(sequence.order.model).spell,
        )

    def _try(self, model: str) -> str | None:
        """Return what is wrong with checkpoints of a model, and forget those it has; ``None`` = nothing."""
        fault = self._trials.fault(model, self._shelf[model])
        if fault is not None:
            weights = self._of(model).weights
            self._store.forget(lambda namespace: namespace.weights == weights)
            self._count()
        return fault

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
            self._trials.due.add(model)
        return self._origins[model]

    def _namespace(self, sequence: Sequence) -> Namespace:
        order = sequence.order
        adapters = tuple(self._adapters[key] for key in order.adapters)
        return Namespace(self._of(order.model).weights, self._shelf[order.model].scheme, adapters)

    def _note(self, reuse: Reuse) -> None:
        self._recent.append(reuse)
        self._hits += reuse.cached > 0
        self._misses += reuse.cached == 0
        self._hit_tokens += reuse.cached
        self._count()

    def _count(self) -> None:
        disk = self._tiers.disk
        if self._store.limit_bytes:
            self.stats = PromptCacheStats(
                off="; ".join(f"{model}: {why}" for model, why in self._trials.faults.items()) or None,
                hits=self._hits,
                misses=self._misses,
                hit_tokens=self._hit_tokens,
                entries=len(self._store),
                bytes=self._store.nbytes,
                limit_bytes=self._store.limit_bytes,
                disk_off=None if disk is None else disk.off,
                disk_entries=0 if disk is None else len(disk),
                disk_bytes=0 if disk is None else disk.nbytes,
                disk_limit_bytes=0 if disk is None else disk.limit_bytes,
                recent=tuple(self._recent),
            )

    def _stops(self, sequence: Sequence, row: BatchCache, cached: int) -> tuple[int, ...]:
        """Return where reading should pause: nowhere, if any token can be gone back to from the row's end."""
        prompt = sequence.order.prompt
        if can_return(row, len(prompt.tokens) + sequence.max_tokens):
            return ()
        return pauses(prompt.boundaries, len(prompt.tokens), cached=cached, chunk=self._chunk)


def key_of(sequence: Sequence) -> Tokens:
    """Return what a sequence's prompt is known by."""
    prompt = sequence.order.prompt
    return prompt_key(prompt.tokens, prompt.spans, [image.digest for image in prompt.images])


def empty_row(network: Network, *, followed: bool = True) -> BatchCache:
    """Return a row that holds nothing, which the network's drafter follows if it is ``followed``."""
    drafter = network.drafter if followed else None
    return BatchCache(network.model.make_caches(network.policy), drafter=drafter)


def can_return(cache: BatchCache, reached: int) -> bool:
    """Say whether a row that has come so far could go back to any of its tokens, whatever it holds now."""
    return all(layer.can_trim(0, 0, reached) for layer in cache.layers)


def thawed(empty: BatchCache, known: Held, length: int) -> BatchCache:
    """Return a row that holds the first ``length`` tokens of a checkpoint, which it ``reaches``."""
    reached = known.reached if length == known.length else length
    return empty.thaw(RowSnapshot(snapshots_of(known, length), length, reached))
