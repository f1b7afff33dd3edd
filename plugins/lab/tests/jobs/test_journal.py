"""A journal may be cut anywhere: what was complete is still there, and what comes later is, too."""

from hypothesis import given, settings
from hypothesis import strategies as st

from mlxp_lab.jobs.events import LogEvent, MetricsEvent, StateEvent
from mlxp_lab.jobs.journal import Journal, tail

EVENTS = st.lists(
    st.one_of(
        st.builds(LogEvent, at=st.integers(0, 9), line=st.text(max_size=20)),
        st.builds(MetricsEvent, at=st.integers(0, 9), step=st.integers(0, 9), values=st.just({"loss": 0.5})),
        st.builds(StateEvent, at=st.integers(0, 9), state=st.sampled_from(["running", "done"])),
    ),
    max_size=6,
)


@settings(deadline=None)
@given(events=EVENTS, later=EVENTS, cut=st.floats(0, 1))
def test_a_cut_loses_the_last_line_alone(tmp_path_factory, events, later, cut):
    journal = Journal(tmp_path_factory.mktemp("job"))
    journal.write(*events)
    text = journal.path.read_bytes()
    kept = text[: int(len(text) * cut)]
    journal.path.write_bytes(kept)
    whole = kept.count(b"\n")
    assert journal.events() == events[:whole]
    if later:
        journal.write(*later)
        read = journal.events()
        assert read[:whole] == events[:whole]
        assert read[len(read) - len(later) :] == later


@settings(deadline=None)
@given(events=EVENTS, place=st.integers(0, 6))
def test_reading_goes_on_where_it_stopped(tmp_path_factory, events, place):
    journal = Journal(tmp_path_factory.mktemp("job"))
    journal.write(*events)
    read = list(journal.read())
    behind = ([0] + [where for _, where in read])[: place + 1][-1]
    assert [event for event, _ in journal.read(behind)] == events[min(place, len(events)) :]


def test_a_place_that_is_not_there_begins_anew(tmp_path):
    journal = Journal(tmp_path)
    journal.write(LogEvent(at=1, line="one"))
    assert len(list(journal.read(10**9))) == 1


@settings(deadline=None)
@given(lines=st.lists(st.text(st.characters(codec="ascii", categories=["L"]), min_size=1), max_size=5))
def test_a_tail_is_the_end(tmp_path_factory, lines):
    path = tmp_path_factory.mktemp("text") / "output.txt"
    path.write_text("".join(f"{line}\n" for line in lines))
    assert tail(path, 2) == lines[-2:]
    assert tail(path.with_name("none"), 2) == []
