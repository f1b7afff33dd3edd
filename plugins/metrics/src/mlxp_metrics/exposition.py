"""A tally and the engine's snapshot, written as Prometheus or OpenMetrics reads them."""

from collections.abc import Callable, Iterator
from itertools import accumulate

from msgspec import Struct
from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics_core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    InfoMetricFamily,
    Metric,
)

from mlxp_core.types import EngineStats, PromptCacheStats
from mlxp_metrics.tally import Histogram, Tally, Times

WHO = ("protocol", "model")

_TIMES: tuple[tuple[str, str, Callable[[Times], Histogram]], ...] = (
    ("mlxp_queue_seconds", "Waiting for a row", lambda times: times.queue),
    ("mlxp_prefill_seconds", "Reading the prompt", lambda times: times.prefill),
    ("mlxp_decode_seconds", "From the first token to the last", lambda times: times.decode),
    (
        "mlxp_time_to_first_token_seconds",
        "From submission to the first token",
        lambda times: times.first_token,
    ),
    ("mlxp_tokens_per_second", "Speed of a choice after its first token", lambda times: times.speed),
)

_STATES = ("loading", "ready", "stopping", "lost")


class Scrape(Struct, frozen=True, kw_only=True):
    """What is to be written.

    Attributes:
        tally: nobody else's, as it is read on another thread.
        weights_bytes: of all models on offer.
    """

    tally: Tally
    stats: EngineStats
    version: str
    weights_bytes: int = 0

    def collect(self) -> Iterator[Metric]:
        """Yield every metric; what Prometheus' encoders ask for."""
        yield InfoMetricFamily("mlxp", "Which server this is", {"version": self.version})
        yield from _counted(self.tally)
        yield from _timed(self.tally)
        yield from _engine(self.stats)
        yield GaugeMetricFamily(
            "mlxp_weights_bytes", "Weight files of the models on offer", self.weights_bytes
        )


def expose(scrape: Scrape, accept: str) -> tuple[bytes, str]:
    """Return the text and its media type.

    Args:
        scrape: what is to be written.
        accept: the request's ``Accept`` header.
    """
    encode, media_type = choose_encoder(accept)
    return encode(scrape), media_type


def _counted(tally: Tally) -> Iterator[Metric]:
    ended = CounterMetricFamily("mlxp_requests", "Choices that ended, by reason", labels=(*WHO, "reason"))
    for (who, reason), count in tally.ended.items():
        ended.add_metric((who.protocol, who.model, reason), count)
    yield ended
    tokens = CounterMetricFamily(
        "mlxp_tokens",
        "Tokens, by kind; cached are part of prompt, thinking and accepted of completion, accepted of guessed",
        labels=(*WHO, "kind"),
    )
    for (who, kind), count in tally.tokens.items():
        tokens.add_metric((who.protocol, who.model, kind), count)
    yield tokens


def _timed(tally: Tally) -> Iterator[Metric]:
    for name, text, pick in _TIMES:
        family = HistogramMetricFamily(name, f"{text}; of choices that ended well", labels=WHO)
        for who, times in tally.times.items():
            histogram = pick(times)
            ends = [*map(str, histogram.ends), "+Inf"]
            buckets = list(zip(ends, accumulate(histogram.counts), strict=True))
            family.add_metric((who.protocol, who.model), buckets, histogram.total)
        yield family


def _engine(stats: EngineStats) -> Iterator[Metric]:
    state = GaugeMetricFamily("mlxp_engine_state", "1 for the state the engine is in", labels=("state",))
    for name in _STATES:
        state.add_metric((name,), stats.state == name)
    yield state
    choices = GaugeMetricFamily("mlxp_choices", "Choices in the house, by where they are", labels=("place",))
    for place, count in (
        ("waiting", stats.waiting),
        ("prefilling", stats.prefilling),
        ("running", stats.running),
    ):
        choices.add_metric((place,), count)
    yield choices
    yield GaugeMetricFamily("mlxp_cache_bytes", "Caches of the rows", stats.cache_bytes)
    yield from _prompt_cache(stats.prompt_cache)
    yield CounterMetricFamily("mlxp_engine_steps", "Steps of the engine", stats.steps)
    yield CounterMetricFamily(
        "mlxp_engine_host_seconds", "Time between steps that the host needed", stats.host_s
    )
    yield CounterMetricFamily(
        "mlxp_engine_device_seconds", "Time that the host waited for the device", stats.device_s
    )


def _prompt_cache(stats: PromptCacheStats | None) -> Iterator[Metric]:
    if stats is None:
        return
    yield GaugeMetricFamily("mlxp_prompt_cache_bytes", "Checkpoints of prompts in memory", stats.bytes)
    yield GaugeMetricFamily("mlxp_prompt_cache_entries", "Checkpoints of prompts", stats.entries)
    looked = CounterMetricFamily("mlxp_prompt_cache_lookups", "Prompts looked up", labels=("outcome",))
    looked.add_metric(("hit",), stats.hits)
    looked.add_metric(("miss",), stats.misses)
    yield looked
    yield CounterMetricFamily("mlxp_prompt_cache_tokens", "Tokens of prompts taken", stats.hit_tokens)
