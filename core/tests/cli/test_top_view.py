"""The picture of a server, from what it said."""

import io

import pytest
from msgspec.structs import replace
from rich.console import Console

from mlxp_core.cli.top_view import (
    SHOWN,
    Admission,
    Batch,
    Choice,
    Ended,
    Model,
    PromptCache,
    Queue,
    Requests,
    Running,
    Server,
    Sight,
    Stats,
    Timings,
    Totals,
    view,
)

STATS = Stats(
    Server("1.0", "ready", None, 0),
    Batch(8),
    Queue(128, 3, 1, 4),
    Timings(0.25, 40.0),
    Totals(5, 1, 0, 1000),
    Admission(8 * 2**30, 5 * 2**30, 4 * 2**30, 2**20, 5 * 2**30, 6 * 2**30),
    PromptCache(2, 2**20, 2**30, 3, 1, 500),
    {"[one]": Model("loaded", False, 5, 1, 0, 99), "two": Model("on disk", True, 0, 0, 0, 0)},
)


def running(name, *states, model="[one]"):
    return Running(name, "openai-chat", model, 1.5, tuple(map(Choice, states)))


def ended(name, *, ago_s=1.0, tokens=50, reason="stop"):
    return Ended(
        name, "anthropic", "[one]", round((1000 - ago_s) * 1000), reason, 10, 4, tokens, 0.5, 0.5, 1.0
    )


def seen(stats=STATS, run=(), done=(), at_s=0.0):
    return Sight(at_s, 1000.0, stats, Requests(tuple(run), tuple(done)))


def shown(now, before=None):
    out = io.StringIO()
    Console(file=out, width=160).print(view(now, before, "host:1"))
    return out.getvalue()


def line(text, first):
    return next(line for line in text.splitlines() if line.startswith(first)).split()


def test_rows_and_waiting_are_counted_by_model():
    text = shown(seen(run=[running("a", "generating", "ended", "waiting"), running("b", "prefilling")]))
    assert line(text, "[one]")[1:4] == ["loaded", "2", "1"]
    assert line(text, "two")[1:5] == ["on", "disk,", "pinned", "0"]


def test_speed_is_that_of_the_answers_that_ended_lately():
    text = shown(
        seen(done=[ended("a", tokens=50), ended("b", tokens=150), ended("c", ago_s=60, tokens=9999)])
    )
    assert line(text, "[one]")[4] == "20.0"


def test_steps_are_those_since_the_last_look():
    later = replace(STATS, totals=replace(STATS.totals, steps=1090))
    assert "steps 60/s" in shown(seen(later, at_s=1.5), seen())
    assert "steps" not in shown(seen(later, at_s=1.5))
    begun_again = replace(STATS, totals=replace(STATS.totals, steps=7))
    assert "steps" not in shown(seen(begun_again, at_s=1.5), seen())


def test_memory_is_told_by_part():
    text = shown(seen())
    assert line(text, "weights")[1:3] == ["4.3", "GB"]
    assert "75 % of 4 prompts hit" in text
    assert "budget 8.6 GB" in text
    bare = replace(STATS, prompt_cache=None, admission=replace(STATS.admission, usable_bytes=0))
    assert "prompt cache" not in shown(seen(bare))
    assert "nobody counts" in shown(seen(bare))


def test_what_runs_comes_before_what_ended_and_the_list_is_short():
    text = shown(seen(run=[running("now", "generating")], done=[ended(f"old{n}") for n in range(40)]))
    rows = [row for row in text.splitlines() if row.startswith(("now", "old"))]
    assert rows[0].split()[3] == "generating"
    assert len(rows) == SHOWN


@pytest.mark.parametrize(("state", "fault"), [("lost", "SystemExit: [red]gone[/]"), ("loading", None)])
def test_a_server_in_trouble_says_so(state, fault):
    text = shown(seen(replace(STATS, server=Server("1.0", state, fault, 2))))
    assert state in text
    assert "restarted 2 times" in text
    assert fault is None or fault in text


def test_a_server_that_is_gone_is_told():
    assert "host:1 does not answer" in shown(None)
