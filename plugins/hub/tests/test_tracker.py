"""Downloads in the background, with threads but without a network."""

import threading

import pytest

from mlxp_core.errors import SetupError
from mlxp_hub.refs import Ref
from mlxp_hub.remote import Listing, RemoteFile
from mlxp_hub.tracker import KEPT, WINDOW_S, Tracked, Tracker
from mlxp_hub.transfer import Stopped

PATIENCE_S = 20
REF = Ref("o/n")


def file(path, size):
    return RemoteFile(path=path, size=size, digest=path, hashed="git")


A, B = file("a", 100), file("b", 50)


class Clock:
    def __init__(self):
        self.now_s = 1000.0

    def __call__(self):
        return self.now_s


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def tracked(clock):
    made = Tracked(REF, clock, clock)
    made.planned(Listing(ref=REF, commit="c", files=(A, B)))
    return made


def test_bytes_and_files_are_counted(tracked):
    tracked.found(A, 40)
    tracked.moved(A, 60)
    tracked.arrived(A)
    tracked.moved(B, 10)
    card = tracked.card()
    assert (card.received_bytes, card.total_bytes) == (110, 150)
    assert (card.files_done, card.files_total, card.current_file) == (1, 2, "b")
    assert (card.state, card.finished_at) == ("active", None)


def test_speed_is_of_the_last_seconds_and_of_what_came(tracked, clock):
    tracked.found(A, 90)
    assert tracked.card().bytes_per_sec == 0
    tracked.moved(A, 10)
    clock.now_s += 1
    tracked.moved(B, 50)
    assert tracked.card().bytes_per_sec == 60 / WINDOW_S
    clock.now_s += WINDOW_S - 0.5
    assert tracked.card().bytes_per_sec == 50 / WINDOW_S
    clock.now_s += 1
    assert tracked.card().bytes_per_sec == 0


def test_useless_bytes_are_taken_back_and_speed_is_never_below_zero(tracked):
    tracked.found(A, 80)
    tracked.moved(A, -80)
    assert (tracked.card().received_bytes, tracked.card().bytes_per_sec) == (0, 0)


@pytest.mark.parametrize(("error", "state"), [(None, "done"), ("no", "error")])
def test_an_end_is_an_end(tracked, clock, error, state):
    clock.now_s += 2
    tracked.end(error)
    card = tracked.card()
    assert (card.state, card.finished_at - card.started_at) == (state, 2000)


@pytest.fixture
def tracker():
    """A tracker whose downloads wait until ``go`` is set, and end as ``fault`` says; returns all three."""
    go, faults = threading.Event(), {}

    def fetch(ref, tracked):
        while not go.wait(0.001):
            if tracked.stop.is_set():
                raise Stopped
        if ref.repo in faults:
            raise faults[ref.repo]
        return ref.repo

    made = Tracker(fetch)
    yield made, go, faults
    made.stop_all()
    assert made.join(PATIENCE_S)


def test_one_download_of_a_model_at_a_time(tracker):
    made, go, _ = tracker
    first, again, other = made.start(REF), made.start(Ref("o/n", "v2")), made.start(Ref("o/m"))
    assert (first.revision, again.revision) == ("main", "main")
    assert [card.repo_id for card in made.cards()] == ["o/m", "o/n"]
    go.set()
    assert made.join(PATIENCE_S)
    assert {card.state for card in made.cards()} == {"done"}
    assert other.state == "active"


def test_what_failed_says_why_and_may_be_started_again(tracker):
    made, go, faults = tracker
    faults["o/n"] = SetupError("the disk is full")
    go.set()
    made.start(REF)
    assert made.join(PATIENCE_S)
    (card,) = made.cards()
    assert (card.state, card.error) == ("error", "the disk is full")
    faults.clear()
    made.start(REF)
    assert made.join(PATIENCE_S)
    assert [card.state for card in made.cards()] == ["done", "error"]


def test_a_download_can_be_stopped(tracker):
    made, _, _ = tracker
    made.start(REF)
    assert made.cancel("o/n")
    assert made.join(PATIENCE_S)
    (card,) = made.cards()
    assert card.state == "error"
    assert "go on" in card.error
    assert not made.cancel("o/n")


def test_only_the_newest_that_ended_are_remembered_and_all_that_have_not(tracker):
    made, go, _ = tracker
    made.start(Ref("o/first"))
    go.set()
    for number in range(KEPT + 3):
        made.start(Ref(f"o/{number}"))
        assert made.join(PATIENCE_S)
    assert [card.repo_id for card in made.cards()] == [f"o/{number}" for number in range(KEPT + 2, 2, -1)]
