"""The snapshot that others may read, and the sums it is made of."""

from collections import Counter
from collections.abc import Mapping
from threading import Event
from typing import Any

from mlxp_core.engine.steps import Load, Outcome, Prefill, Step, Unload
from mlxp_core.errors import MlxpError
from mlxp_core.types import EngineStats, KVInForce, PromptCacheStats, RequestRecord, Timing

_INERTIA = 0.8  # weight of the past in what is smoothed


class Counts:
    """Choices that ended and their tokens, model by model.

    Attributes:
        version: another number whenever something here has changed.
    """

    def __init__(self) -> None:
        """Start at zero."""
        self.version = 0
        self._by_model: dict[str, Counter[str]] = {}

    def add(self, record: RequestRecord) -> None:
        """Count a choice that ended."""
        self.version += 1
        counter = self._by_model.setdefault(record.model, Counter())
        counter[_column(record)] += 1
        counter["prompt_tokens"] += record.usage.prompt
        counter["completion_tokens"] += record.usage.completion

    def of(self, model: str) -> Mapping[str, int]:
        """Return what was counted of a model, called as in ``ModelState``."""
        return self._by_model.get(model, Counter())


def _column(record: RequestRecord) -> str:
    """Return where a choice is counted: in one of three columns."""
    if record.error is not None:
        return "failed"
    return "cancelled" if record.reason == "cancelled" else "finished"


class Totals:
    """Sums since the start, what is smoothed, and what the runner told last; each called as in ``EngineStats``."""

    def __init__(self) -> None:
        """Start at zero."""
        self.restarts = 0
        self.steps = 0
        self.read_tokens = 0
        self.drawn_tokens = 0
        self.host_s = 0.0
        self.build_s = 0.0
        self.device_s = 0.0
        self.cache_bytes = 0
        self.active_bytes = 0
        self.peak_bytes = 0
        self.prompt_cache: PromptCacheStats | None = None
        self.kv: Mapping[str, KVInForce] = {}  # replaced whole, as snapshots hold it
        self.prompt_tokens = 0
        self.completion_tokens = 0
        self.guessed_tokens = 0
        self.accepted_tokens = 0
        self.finished = 0
        self.failed = 0
        self.cancelled = 0
        self.queued_s = 0.0
        self.prefill_s = 0.0
        self.decode_s = 0.0
        self.pace_s = 0.0
        self.ttft_s = 0.0
        self.tokens_per_s = 0.0

    def take(self, step: Step, outcome: Outcome) -> None:
        """Note what the runner told of a step."""
        self.host_s += outcome.times.host_s
        self.build_s += outcome.times.build_s
        self.device_s += outcome.times.device_s
        self.cache_bytes = outcome.cache_bytes
        self.active_bytes, self.peak_bytes = outcome.active_bytes, outcome.peak_bytes
        self.prompt_cache = outcome.prompt_cache
        self.drawn_tokens += sum(len(draw.tokens) for draw in outcome.draws)
        match step:
            case Prefill(count=count):
                self.read_tokens += count
            case Load(model) if outcome.kv is not None:
                self.kv = {**self.kv, model: outcome.kv}
            case Unload(model):
                self.kv = {name: kept for name, kept in self.kv.items() if name != model}

    def go_on(self) -> None:
        """Count another life of the engine; what the runner told belonged to the last one."""
        self.restarts += 1
        self.cache_bytes = self.active_bytes = self.peak_bytes = 0
        self.prompt_cache, self.kv = None, {}

    def add(self, record: RequestRecord) -> None:
        """Count a choice that ended, once and in one of three columns."""
        self.prompt_tokens += record.usage.prompt
        self.completion_tokens += record.usage.completion
        self.guessed_tokens += record.usage.guessed
        self.accepted_tokens += record.usage.accepted
        match _column(record):
            case "failed":
                self.failed += 1
            case "cancelled":
                self.cancelled += 1
            case _:
                self.finished += 1
                self._time(record.timing, record.usage.completion)

    def told(self) -> dict[str, Any]:
        """Return all of them by name."""
        return dict(vars(self))

    def _time(self, timing: Timing, tokens: int) -> None:
        """Take in the times of a choice that finished with so many tokens."""
        self.queued_s += timing.queued_s
        self.prefill_s += timing.prefill_s
        self.decode_s += timing.decode_s
        self.pace_s = _smoothed(self.pace_s, timing.prefill_s + timing.decode_s)
        self.ttft_s = _smoothed(self.ttft_s, timing.queued_s + timing.prefill_s)
        if tokens > 1 and timing.decode_s > 0:
            self.tokens_per_s = _smoothed(self.tokens_per_s, (tokens - 1) / timing.decode_s)


class Books:
    """What is counted over all lives of an engine."""

    def __init__(self) -> None:
        """Start at zero."""
        self.totals = Totals()
        self.counts = Counts()

    def add(self, record: RequestRecord) -> None:
        """Count a choice that ended."""
        self.totals.add(record)
        self.counts.add(record)

    def go_on(self) -> None:
        """Count another life of the engine."""
        self.totals.go_on()


def _smoothed(so_far: float, new: float) -> float:
    return _INERTIA * so_far + (1 - _INERTIA) * new if so_far else new


class StatsBoard:
    """Where the engine thread pins its snapshot, and anyone may look. Replaced whole, so reading needs no lock."""

    def __init__(self) -> None:
        """Begin with an engine that is loading."""
        self._stats = EngineStats()
        self._error: MlxpError | None = None
        self._settled = Event()

    @property
    def stats(self) -> EngineStats:
        """Return the last snapshot."""
        return self._stats

    def publish(self, stats: EngineStats) -> None:
        """Pin a snapshot, unless the last one is there."""
        if self._error is None:
            self._pin(stats)

    def finish(self, stats: EngineStats, error: MlxpError) -> None:
        """Pin the last snapshot; ``error`` says why there will be no more."""
        self._error = error
        self._pin(stats)

    def _pin(self, stats: EngineStats) -> None:
        self._stats = stats
        if stats.state != "loading":
            self._settled.set()

    def wait_ready(self, timeout_s: float | None) -> bool:
        """Wait until loading is over; false if that takes longer.

        Raises:
            MlxpError: why the engine has ended.
        """
        if not self._settled.wait(timeout_s):
            return False
        if self._error is not None:
            raise self._error
        return True
