"""What is written is what Prometheus' own parsers read."""

import pytest
from prometheus_client import parser
from prometheus_client.openmetrics import parser as openmetrics

from mlxp_core.types import EngineStats, PromptCacheStats
from mlxp_metrics.exposition import Scrape, expose
from mlxp_metrics.tally import Tally

OPEN = "application/openmetrics-text; version=1.0.0"


@pytest.fixture
def scrape(record):
    tally = Tally()
    tally.add(record(model='a "quoted"\nname'))
    tally.add(record(reason="length"))
    kept = PromptCacheStats(hits=5, misses=2, hit_tokens=640, entries=8, bytes=77, limit_bytes=99)
    stats = EngineStats(
        state="ready", waiting=3, running=2, cache_bytes=7, steps=9, host_s=0.5, prompt_cache=kept
    )
    return Scrape(tally=tally, stats=stats, version="1.2.3", weights_bytes=11)


@pytest.mark.parametrize(
    ("accept", "parse"),
    [("", parser.text_string_to_metric_families), (OPEN, openmetrics.text_string_to_metric_families)],
)
def test_it_reads_back(scrape, accept, parse):
    text, media_type = expose(scrape, accept)
    assert media_type.startswith(accept.partition(";")[0] or "text/plain")
    samples = {
        (sample.name, *dict(sorted(sample.labels.items())).values()): sample.value
        for family in parse(text.decode())
        for sample in family.samples
    }
    assert samples["mlxp_info", "1.2.3"] == 1
    assert samples["mlxp_requests_total", 'a "quoted"\nname', "chat", "stop"] == 1
    assert samples["mlxp_requests_total", "m", "chat", "length"] == 1
    assert samples["mlxp_tokens_total", "cached", "m", "chat"] == 4
    assert samples["mlxp_choices", "waiting"] == 3
    assert samples["mlxp_engine_state", "ready"] == 1
    assert samples["mlxp_engine_state", "lost"] == 0
    assert (samples["mlxp_cache_bytes",], samples["mlxp_weights_bytes",]) == (7, 11)
    assert samples["mlxp_engine_steps_total",] == 9
    assert (samples["mlxp_prompt_cache_bytes",], samples["mlxp_prompt_cache_entries",]) == (77, 8)
    assert samples["mlxp_prompt_cache_lookups_total", "hit"] == 5
    assert samples["mlxp_prompt_cache_lookups_total", "miss"] == 2
    assert samples["mlxp_prompt_cache_tokens_total",] == 640
    assert samples["mlxp_time_to_first_token_seconds_sum", "m", "chat"] == pytest.approx(0.5)
    assert samples["mlxp_time_to_first_token_seconds_bucket", "0.5", "m", "chat"] == 1
    assert samples["mlxp_time_to_first_token_seconds_bucket", "0.25", "m", "chat"] == 0
    assert samples["mlxp_decode_seconds_bucket", "+Inf", "m", "chat"] == 1


def test_a_server_that_did_nothing_yet_has_its_metrics_all_the_same():
    text, _ = expose(Scrape(tally=Tally(), stats=EngineStats(), version="1"), "")
    names = {family.name for family in parser.text_string_to_metric_families(text.decode())}
    assert {"mlxp_requests", "mlxp_queue_seconds", "mlxp_choices"} <= names
