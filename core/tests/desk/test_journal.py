"""The line of a finished choice."""

import logging

from hypothesis import given
from hypothesis import strategies as st

from mlxp_core.desk.journal import keeper, line
from mlxp_core.types import RequestRecord, Reuse, Timing, Usage


def record(**fields):
    usage, timing = Usage(prompt=3, completion=10), Timing(decode_s=2.0)
    told = {
        "request_id": "r",
        "protocol": "p",
        "model": "m",
        "usage": usage,
        "timing": timing,
        "reason": "stop",
    }
    return RequestRecord(**{**told, **fields})


@given(st.text(), st.text(min_size=1))
def test_it_is_one_line_whatever_is_in_it(name, error):
    text = line(record(request_id=name, error=error))
    assert len(text.splitlines()) == 1
    assert text.isprintable()


def test_it_says_what_happened():
    text = line(record(adapters=("x", "y"), seed=7))
    assert "prompt=3" in text
    assert "tokens_per_s=5.0" in text
    assert "adapters=x+y" in text
    assert "seed=7" in text
    assert "error" not in text


def test_it_says_why_a_prompt_was_read_again():
    missed = Reuse(prompt=9, cached=0, shared=0, cause="empty", why="Nothing is known.")
    assert 'cache="Nothing is known."' in line(record(reuse=missed))
    assert "cache=" not in line(record(reuse=Reuse(prompt=9, cached=8, shared=8, cause="none", why="x")))


class Witness:
    def __init__(self):
        self.records = []

    def request_finished(self, record):
        self.records.append(record)


def test_observers_hear_of_every_record_and_faults_are_warnings(caplog):
    witness = Witness()
    keep = keeper(witness)
    with caplog.at_level(logging.INFO, "mlxp.requests"):
        keep(record())
        keep(record(error="it broke"))
    assert len(witness.records) == 2
    assert [entry.levelno for entry in caplog.records] == [logging.INFO, logging.WARNING]
