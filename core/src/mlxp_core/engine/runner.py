"""Carry out steps on the device, one step ahead of what the host has read.

The order of things in ``run(Decode)``:

1. Free what has ended: rows leave the batch by ``keep``; rows that are no longer asked for leave with them.
2. Join the rows that are new, in the order they are asked for.
3. Build the next forward pass from the batch's *unread* tokens and dispatch it (``async_eval``). The device has work
   now. Lengths of caches and counters of samplers advance here, at dispatch, never at reading.
4. Read the tokens of the step before (the only wait for the device), which was dispatched one call ago.

So the host reads, scans and delivers step n while the device computes step n+1. A row that turns out to have ended at
n has one token of n+1 under way: it is dropped at reading, and its place in the caches goes with the row. Nothing in
1 to 3 waits: ``keep`` and ``join`` act on lazy arrays, and the token that a new row starts from (drawn by its last
prefill chunk) has not been read either; its draw is read in 4, like any other.

A step with ``wait`` reads its own draw before it returns, so that nothing is ahead.

A prefill chunk is dispatched, and then the chunk before it is waited for: the device always has the next one, and the
host is never further ahead than that. Hidden states become logits for the last position of a prompt only. Where a
vector is wanted in place of an answer, they are summed up instead (see ``pooling``), and the row ends with its prompt.

Freed buffers go back to the allocator's cache and from there to the system after each prompt and every
``CLEAR_EVERY`` decode steps: prefill leaves large buffers that decoding never asks for again.

A step that raises may leave a row half done, in the batch or out of it. Nothing is put right then: the scheduler ends
the rows that the step was about (all of the batch, if it was a decode step), and what has ended is freed by the next
step, whatever state it is in. So a batch is never gone on with after a fault, and the next row begins a new one.

Everything that is kept for a row hangs in one of four places: ``_prefilling`` (a prompt half read), ``_prefixes``
(a prompt read, for siblings to fork), ``_ready`` (first token drawn, not in the batch yet), ``_batch``.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping

import mlx.core as mx

from mlxp_core.contracts import SamplerStage
from mlxp_core.engine.batch import Batch, Unread
from mlxp_core.engine.faults import contained
from mlxp_core.engine.features import Features
from mlxp_core.engine.past import Past
from mlxp_core.engine.pooling import UnreadVector
from mlxp_core.engine.prompts import HalfRead, Prefix
from mlxp_core.engine.sequence import Recalled, Sequence
from mlxp_core.engine.shelf import Shelf
from mlxp_core.engine.steps import (
    Adapt,
    Decode,
    Draw,
    Failure,
    Fork,
    Load,
    Outcome,
    Prefill,
    Read,
    Recall,
    Step,
)
from mlxp_core.kv import BatchCache, RowSnapshot, forward
from mlxp_core.loading.network import Network
from mlxp_core.memory.device import forget_peak, measured

CLEAR_EVERY = 256
"""Decode steps between two clearings of the allocator's cache."""

MEASURE_EVERY = 32
"""Decode steps between two countings of cache bytes; joins, leaves and chunks are counted as they come."""


class BatchRunner:
    """The runner for the device of this machine. Lives on the engine thread."""

    def __init__(
        self,
        shelf: Shelf,
        stages: Mapping[str, SamplerStage],
        clock: Callable[[], float] = time.monotonic,
        past: Past | None = None,
    ) -> None:
        """Begin with nothing on the device but what is on the shelf, and in the ``past``, if anything is kept."""
        self._shelf = shelf
        self._past = past or Past(shelf, limit_bytes=0)
        self._features = Features(shelf)
        self._stages = stages
        self._clock = clock
        self._prefilling: dict[int, HalfRead] = {}  # by sequence key, as is _ready
        self._prefixes: dict[str, Prefix] = {}  # by request id
        self._ready: dict[int, Batch] = {}
        self._batch: Batch | None = None
        self._unread: list[Unread | UnreadVector] = []
        self._cache_bytes = 0
        self._steps = 0  # decode steps
        self._clear_due = False
        self._read_s: float | None = None  # when the host got the last tokens, while the batch goes on

    def run(self, step: Step) -> Outcome:
        """Carry out a step; see the module's first page."""
        self._past.keep_ended(self._rows())
        self._sweep()
        return self._carry_out(step)

    def close(self) -> None:
        """Free everything, the shelf included."""
        self._prefilling.clear()
        self._prefixes.clear()
        self._ready.clear()
        self._unread.clear()
        self._batch = None
        self._features.clear()
        self._past.clear()
        self._shelf.clear()
        mx.synchronize()
        mx.clear_cache()

    def _carry_out(self, step: Step) -> Outcome:
        draws: list[Draw] = []
        failures: list[Failure] = []
        host_s, kv, recalled, fitted = 0.0, None, Recalled(), None
        match step:
            case Load(model):
                self._shelf.load(model)
                kv = self._shelf[model].kv
                forget_peak()
            case Recall(sequence, room):
                self._past.give_room(room)
                cache, recalled = self._past.recall(sequence)
                self._prefilling[sequence.key] = HalfRead(sequence, cache)
                self._measure()
            case Adapt(message):
                fitted = self._shelf.adapt(message)
                self._past.forget(adapter=message.key)  # of one that is new, there is nothing
            case Prefill():
                with self._shelf.adapters((step.sequence,)):
                    self._prefill(step)
            case Fork():
                self._past.give_room(step.room)
                failures = self._fork(step)
            case Decode():
                ahead, self._unread = self._unread, []
                host_s, failures = self._decode(step)
                draws = self._read(ahead)
                if step.wait:
                    draws += self._read_all()
            case Read():
                draws = self._read_all()
        return Outcome(
            tuple(draws),
            tuple(failures),
            self._cache_bytes,
            host_s,
            kv,
            recalled,
            self._past.stats,
            fitted,
            *measured(),
        )

    # ── Prompts ─────────────────────────────────────────────────────────────────────────────────────────────────

    def _prefill(self, step: Prefill) -> None:
        sequence, network = step.sequence, self._shelf[step.sequence.order.model]
        half = self._prefilling.get(sequence.key)
        if half is None:
            half = self._prefilling[sequence.key] = HalfRead(sequence, self._empty_row(network))
        newest = half.take(self._read_chunk(step, network, half.cache))
        self._past.keep_read(sequence, half.cache)
        if not step.last:
            mx.async_eval(newest)
            if half.newest is not None:
                mx.eval(half.newest)
                self._read_s = None  # that was waiting for the device, not the host at work
            half.newest = newest
        elif half.pooled is None:
            self._finish_prefill(step, network, half.cache, network.model.logits(newest[:, 0]))
        else:
            self._unread.append(half.pooled.finish(sequence))
            self._forget_half(sequence)
        self._measure()

    def _read_chunk(self, step: Prefill, network: Network, cache: BatchCache) -> mx.array:
        """Run a chunk, images and all, through the network; return its hidden states ``[1, count, hidden]``."""
        prompt = step.sequence.order.prompt
        tokens = mx.array(prompt.tokens[step.start : step.start + step.count], dtype=mx.int32)[None]
        shown = self._features.embeddings(step.sequence.order.model, prompt, step.start, tokens)
        return forward(network.model, cache, tokens, embeddings=shown, images=(prompt.spans,))

    def _finish_prefill(self, step: Prefill, network: Network, cache: BatchCache, logits: mx.array) -> None:
        sequence = step.sequence
        if step.siblings:
            self._prefixes[sequence.request_id] = Prefix(cache.freeze(0), logits, step.siblings)
        masks = {} if step.mask is None else {sequence.key: step.mask}
        self._first_draw(sequence, network, cache, logits, masks)
        self._forget_half(sequence)

    def _forget_half(self, sequence: Sequence) -> None:
        del self._prefilling[sequence.key]
        self._clear_due = True

    def _fork(self, step: Fork) -> list[Failure]:
        failures = []
        for sequence in step.rows:
            fault = contained(self._fork_one, sequence, step.masks)
            if fault is not None:
                failures.append((sequence, fault))
        self._measure()
        return failures

    def _fork_one(self, sequence: Sequence, masks: Mapping[int, bytes]) -> None:
        network = self._shelf[sequence.order.model]
        prefix = self._prefixes[sequence.request_id]
        cache = self._empty_row(network).thaw(prefix.snapshot)
        self._first_draw(sequence, network, cache, prefix.logits, masks)

    def _first_draw(
        self,
        sequence: Sequence,
        network: Network,
        cache: BatchCache,
        logits: mx.array,
        masks: Mapping[int, bytes],
    ) -> None:
        """Draw a row's first token from ``[1, vocabulary]``, and make the row ready to join."""
        row = Batch.start(network, sequence, cache, self._stages)
        self._unread.append(row.draw(logits, masks))
        self._ready[sequence.key] = row

    @staticmethod
    def _empty_row(network: Network) -> BatchCache:
        return BatchCache(network.model.make_caches(network.policy))

    # ── Batch ───────────────────────────────────────────────────────────────────────────────────────────────────

    def _decode(self, step: Decode) -> tuple[float, list[Failure]]:
        """Bring the batch to the rows of the step and dispatch it.

        Returns:
            The seconds the host needed, and the rows whose draw failed.
        """
        changed = self._conform(step.rows)
        if self._batch is None:
            return 0.0, []
        with self._shelf.adapters(self._batch.rows):
            drawn, failures = self._batch.step(step.masks)
        self._unread += drawn
        if not self._batch.rows:
            self._batch = None
        self._steps += 1
        self._clear_due = self._clear_due or self._steps % CLEAR_EVERY == 0
        if changed or failures or self._steps % MEASURE_EVERY == 0:
            self._measure()
        return 0.0 if self._read_s is None else self._clock() - self._read_s, failures

    def _conform(self, rows: tuple[Sequence, ...]) -> bool:
        """Let rows leave and join until the batch has just these rows; say whether any did."""
        if self._batch is not None and self._batch.rows == list(rows):
            return False
        wanted = {sequence.key for sequence in rows}
        if self._batch is not None:
            self._keep(lambda sequence: sequence.key in wanted)
        for sequence in rows:
            row = self._ready.pop(sequence.key, None)
            if row is None:
                continue
            if self._batch is None:
                self._batch = row
            else:
                self._batch.join(row)
        return True

    def _keep(self, wanted: Callable[[Sequence], bool]) -> None:
        batch = self._batch
        if batch is None:
            return
        stay = [row for row, sequence in enumerate(batch.rows) if wanted(sequence)]
        if not stay:
            self._batch = None
        elif len(stay) < len(batch.rows):
            batch.keep(stay)

    def _read_all(self) -> list[Draw]:
        ahead, self._unread = self._unread, []
        return self._read(ahead)

    def _read(self, ahead: Iterable[Unread | UnreadVector]) -> list[Draw]:
        draws = [draw for unread in ahead for draw in unread.read()]
        if self._clear_due:
            mx.clear_cache()
            self._clear_due = False
        self._read_s = self._clock() if self._batch is not None else None
        return draws

    # ── Freeing ─────────────────────────────────────────────────────────────────────────────────────────────────

    def _rows(self) -> Iterator[tuple[Sequence, BatchCache, int]]:
        """Yield every sequence that has tokens in a cache, with that and its row."""
        for half in self._prefilling.values():
            yield half.sequence, half.cache, 0
        for batch in (*self._ready.values(), *([] if self._batch is None else [self._batch])):
            yield from batch.placed

    def _sweep(self) -> None:
        """Free what ended sequences hold. Rows of the batch leave with the next ``Decode``, or when none is left."""
        held = self._held
        self._unread = [unread for unread in self._unread if not all(row.ended for row in unread.rows)]
        self._prefilling = {key: half for key, half in self._prefilling.items() if not half.sequence.ended}
        self._ready = {key: row for key, row in self._ready.items() if not row.rows[0].ended}
        self._prefixes = {
            request_id: prefix
            for request_id, prefix in self._prefixes.items()
            if any(not sibling.ended and not sibling.read for sibling in prefix.siblings)
        }
        if self._batch is not None and all(sequence.ended for sequence in self._batch.rows):
            self._batch, self._read_s = None, None
        if self._held < held:
            self._measure()

    @property
    def _held(self) -> int:
        return len(self._prefilling) + len(self._prefixes) + len(self._ready) + (self._batch is not None)

    def _measure(self) -> None:
        held: list[BatchCache | RowSnapshot] = [half.cache for half in self._prefilling.values()]
        held += [row.cache for row in self._ready.values()]
        held += [prefix.snapshot for prefix in self._prefixes.values()]
        held += [] if self._batch is None else [self._batch.cache]
        self._cache_bytes = sum(item.nbytes for item in held)
