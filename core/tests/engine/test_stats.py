import pytest

from mlxp_core.engine.stats import StatsBoard, Totals
from mlxp_core.engine.steps import Decode, Draw, Outcome, Prefill
from mlxp_core.errors import ModelFolderError
from mlxp_core.types import EngineStats, RequestRecord, Timing, Usage


def record(reason="stop", *, error=None, took_s=1.0):
    return RequestRecord(
        request_id="r",
        protocol="",
        model="m",
        usage=Usage(prompt=3, completion=5),
        timing=Timing(queued_s=9.0, prefill_s=took_s / 2, decode_s=took_s / 2),
        reason=reason,
        error=error,
    )


def test_each_choice_counts_once():
    totals = Totals()
    for one in (record(), record("length"), record("cancelled"), record("failed", error="gone")):
        totals.add(one)
    assert (totals.finished, totals.cancelled, totals.failed) == (2, 1, 1)
    assert (totals.prompt_tokens, totals.completion_tokens) == (12, 20)


def test_the_pace_follows_those_that_finished():
    totals = Totals()
    totals.add(record(took_s=4.0))
    assert totals.pace_s == 4.0
    totals.add(record("cancelled", took_s=100.0))
    assert totals.pace_s == 4.0
    for _ in range(50):
        totals.add(record(took_s=8.0))
    assert totals.pace_s == pytest.approx(8.0, rel=0.01)


def test_times_are_summed_and_smoothed_over_those_that_finished():
    totals = Totals()
    totals.add(record(took_s=4.0))
    totals.add(record("cancelled", took_s=100.0))
    assert (totals.queued_s, totals.prefill_s, totals.decode_s) == (9.0, 2.0, 2.0)
    assert (totals.ttft_s, totals.tokens_per_s) == (11.0, 2.0)
    totals.add(record(took_s=2.0))
    assert 10.0 < totals.ttft_s < 11.0
    assert 2.0 < totals.tokens_per_s < 4.0


def test_tokens_are_counted_as_they_come():
    totals, row = Totals(), object()
    totals.take(Prefill(row, 0, 7, last=False), Outcome())
    totals.take(Prefill(row, 7, 3, last=True), Outcome())
    totals.take(Decode(()), Outcome(draws=(Draw(row, (1, 2)), Draw(row, (3,)))))
    assert (totals.read_tokens, totals.drawn_tokens, totals.completion_tokens) == (10, 3, 0)


def test_what_is_told_has_the_names_of_the_snapshot():
    totals = Totals()
    totals.add(record())
    assert EngineStats(**totals.told()).finished == 1


def test_the_board_shows_the_last_snapshot():
    board = StatsBoard()
    assert board.stats.state == "loading"
    assert not board.wait_ready(0)
    board.publish(EngineStats(state="loading", waiting=3))
    assert not board.wait_ready(0)
    board.publish(EngineStats(state="ready"))
    assert board.wait_ready(0)


def test_whoever_waits_hears_why_it_will_never_be_ready():
    board = StatsBoard()
    board.finish(EngineStats(state="lost", fault="damaged"), ModelFolderError("damaged"))
    with pytest.raises(ModelFolderError, match="damaged"):
        board.wait_ready(None)
    assert board.stats.fault == "damaged"
