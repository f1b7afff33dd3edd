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

A step with ``wait`` reads its own draw before it returns, so that nothing is ahead; one with guesses always has it.

A prefill chunk is dispatched, and then the chunk before it is waited for: the device always has the next one, and the
host is never further ahead than that. Hidden states become logits for the last position of a prompt only. Where a
vector is wanted in place of an answer, they are summed up instead (see ``pooling``), and the row ends with its prompt.

Freed buffers go back to the allocator's cache and from there to the system after each prompt and every
``CLEAR_EVERY`` decode steps: prefill leaves large buffers that decoding never asks for again.

A step that raises may leave a row half done, in the batch or out of it. Nothing is put right then: the scheduler ends
the rows that the step was about (all of the batch, if it was a decode step), and what has ended is freed by the next
step, whatever state it is in. So a batch is never gone on with after a fault, and the next row begins a new one.

Everything that is kept for a row hangs in one of three places: ``_prompts`` (half read, or read, for siblings to fork),
``_ready`` (first token drawn, not in the batch yet), ``_batch``.
"""

import time
from collections.abc import Callable, Iterable, Mapping
from itertools import chain

import mlx.core as mx

from mlxp_core.adapters import Fitted
from mlxp_core.contracts import SamplerStage
from mlxp_core.engine.batch import Batch, Unread
from mlxp_core.engine.faults import contained
from mlxp_core.engine.features import Features
from mlxp_core.engine.hold import Mask
from mlxp_core.engine.past import Past
from mlxp_core.engine.pooling import UnreadVector
from mlxp_core.engine.prompts import Prompts
from mlxp_core.engine.pulse import Pulse
from mlxp_core.engine.sequence import Recalled, Sequence
from mlxp_core.engine.shelf import Shelf
from mlxp_core.engine.speculation.verify import Unjudged, advance
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
    Rest,
    Step,
    Unload,
)
from mlxp_core.kv import BatchCache
from mlxp_core.loading.network import Network
from mlxp_core.memory.device import forget_peak, measured
from mlxp_core.types import KVInForce

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
        self._past = past or Past(shelf)
        self._features = Features(shelf)
        self._stages = stages
        self._pulse = Pulse(clock)
        self._prompts = Prompts(shelf, self._features, self._past)
        self._ready: dict[int, Batch] = {}  # by sequence key
        self._batch: Batch | None = None
        self._unread: list[Unread | UnreadVector | Unjudged] = []
        self._cache_bytes = 0
        self._steps = 0  # decode steps
        self._clear_due = False

    def run(self, step: Step) -> Outcome:
        """Carry out a step; see the module's first page."""
        self._past.keep_ended(chain(self._prompts.placed(), *(batch.placed for batch in self._batches)))
        self._sweep()
        return self._carry_out(step)

    def distrust(self) -> None:
        """Forget what was computed for more than one row: some of it may be wrong."""
        self._past.forget_all()
        self._features.clear()

    def close(self) -> None:
        """Free everything, the shelf included."""
        self._prompts.clear()
        self._ready.clear()
        self._unread.clear()
        self._batch = None
        self._features.clear()
        mx.synchronize()
        self._past.close()
        self._shelf.clear()
        mx.synchronize()
        mx.clear_cache()

    def _carry_out(self, step: Step) -> Outcome:
        draws: list[Draw] = []
        failures: list[Failure] = []
        kv, recalled, fitted = None, Recalled(), None
        match step:
            case Load() | Unload() | Adapt():
                kv, fitted = self._shelve(step)
            case Recall():
                self._past.give_room(step.room)
                recalled = self._prompts.recall(step)
                self._measure()
            case Prefill():
                with self._shelf.adapters((step.sequence,)):
                    self._prefill(step)
            case Fork():
                self._past.give_room(step.room)
                failures = self._fork(step)
            case Decode():
                ahead, self._unread = self._unread, []
                failures = self._decode(step)
                draws = self._read(ahead)
                if step.wait:
                    draws += self._read_all()
            case Read():
                draws = self._read_all()
            case Rest():
                self._past.rest()
        rows = (tuple(draws), tuple(failures), self._cache_bytes, self._pulse.take())
        return Outcome(*rows, kv, recalled, self._past.stats, fitted, *measured())

    def _shelve(self, step: Load | Unload | Adapt) -> tuple[KVInForce | None, Fitted | None]:
        """Let models and adapters come and go; return how a new one keeps keys and values, or what it changes."""
        match step:
            case Load(model, room):
                self._past.give_room(room)
                self._shelf.load(model)
                forget_peak()
                return self._shelf[model].kv, None
            case Unload(model):
                self._shelf.unload(model)
                self._features.forget(model)
                mx.clear_cache()
                return None, None
            case Adapt(message, room):
                self._past.give_room(room)
                fitted = self._shelf.adapt(message)
                self._past.note(message)
                return None, fitted

    def _prefill(self, step: Prefill) -> None:
        sequence, network = step.sequence, self._shelf[step.sequence.order.model]
        half, newest = self._prompts.read(step)
        if not step.last:
            mx.async_eval(newest)
            if half.newest is not None:
                mx.eval(half.newest)
                self._pulse.pause()  # that was waiting for the device, not the host at work
            half.newest = newest
        elif half.pooled is None:
            logits = network.model.logits(newest[:, 0])
            self._prompts.expect(step.siblings, half, logits)
            self._first_draw(sequence, network, half.cache, logits, step.masks)
        else:
            self._unread.append(half.pooled.finish(sequence, network))
        if step.last:
            self._prompts.forget(sequence)
            self._clear_due = True
        self._measure()

    def _fork(self, step: Fork) -> list[Failure]:
        failures = []
        for sequence in step.rows:
            fault = contained(self._fork_one, sequence, step.masks)
            if fault is not None:
                failures.append((sequence, fault))
        self._measure()
        return failures

    def _fork_one(self, sequence: Sequence, masks: Mapping[int, Mask]) -> None:
        cache, logits = self._prompts.fork(sequence)
        self._first_draw(sequence, self._shelf[sequence.order.model], cache, logits, masks)

    def _first_draw(
        self,
        sequence: Sequence,
        network: Network,
        cache: BatchCache,
        logits: mx.array,
        masks: Mapping[int, Mask],
    ) -> None:
        """Draw a row's first token from ``[1, vocabulary]``, and make the row ready to join."""
        row = Batch.start(network, sequence, cache, self._stages)
        self._unread.append(row.draw(logits, masks))
        self._ready[sequence.key] = row

    def _decode(self, step: Decode) -> list[Failure]:
        """Bring the batch to the rows of the step and dispatch it; return the rows whose draw failed."""
        self._pulse.begin()
        changed = self._conform(step.rows)
        if self._batch is None:
            return []
        drawn, failures = advance(self._batch, step, self._shelf.adapters)
        self._unread += drawn
        if not self._batch.rows:
            self._batch = None
        self._steps += 1
        self._clear_due = self._clear_due or self._steps % CLEAR_EVERY == 0
        if changed or failures or self._steps % MEASURE_EVERY == 0:
            self._measure()
        self._pulse.dispatched()
        return failures

    def _conform(self, rows: tuple[Sequence, ...]) -> bool:
        """Let rows leave and join until the batch has just these rows; say whether any did."""
        if self._batch is not None and self._batch.rows == list(rows):
            return False
        wanted = {sequence.key for sequence in rows}
        if self._batch is not None:
            self._keep(self._batch, lambda sequence: sequence.key in wanted)
        for sequence in rows:
            row = self._ready.pop(sequence.key, None)
            if row is None:
                continue
            if self._batch is None:
                self._batch = row
            else:
                self._batch.join(row)
        return True

    def _keep(self, batch: Batch, wanted: Callable[[Sequence], bool]) -> None:
        stay = [row for row, sequence in enumerate(batch.rows) if wanted(sequence)]
        if not stay:
            self._batch = None
        elif len(stay) < len(batch.rows):
            batch.keep(stay)

    def _read_all(self) -> list[Draw]:
        ahead, self._unread = self._unread, []
        return self._read(ahead)

    def _read(self, ahead: Iterable[Unread | UnreadVector | Unjudged]) -> list[Draw]:
        self._pulse.reading()
        draws = [draw for unread in ahead for draw in unread.read()]
        self._pulse.read(going_on=self._batch is not None)
        self._past.tend()
        if self._clear_due:
            mx.clear_cache()
            self._clear_due = False
        return draws

    def _sweep(self) -> None:
        """Free what ended sequences hold. Rows of the batch leave with the next ``Decode``, or when none is left."""
        held = self._held
        self._unread = [unread for unread in self._unread if not all(row.ended for row in unread.rows)]
        self._prompts.sweep()
        self._ready = {key: row for key, row in self._ready.items() if not row.rows[0].ended}
        if self._batch is not None and all(sequence.ended for sequence in self._batch.rows):
            self._batch = None
            self._pulse.pause()
        if self._held < held:
            self._measure()

    @property
    def _held(self) -> int:
        return len(self._prompts) + len(self._batches)

    def _measure(self) -> None:
        self._cache_bytes = self._prompts.nbytes + sum(batch.cache.nbytes for batch in self._batches)

    @property
    def _batches(self) -> list[Batch]:
        return [*self._ready.values(), *([] if self._batch is None else [self._batch])]
