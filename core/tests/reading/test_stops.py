"""Stop strings."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlxp_core.reading import StopScanner

STOPS = st.lists(st.text("ab", max_size=4), max_size=4)


def run(stops, pieces):
    scanner = StopScanner(stops)
    said = [scanner.feed(piece) for piece in pieces]
    return [*said, scanner.flush()], scanner.matched


@pytest.mark.parametrize(
    ("stops", "pieces", "said", "matched"),
    [
        ([], ["hello ", "world"], ["hello ", "world", ""], None),
        (["STOP"], ["hello ", "STOP world", "more"], ["hello ", "", "", ""], "STOP"),
        (["3 4"], ["1 2 ", "3", " 4"], ["1 2 ", "", "", ""], "3 4"),
        (["END!"], ["the EN", "D of it"], ["the ", "END of it", ""], None),
        (["xyz"], ["abcx"], ["abc", "x"], None),
        (["bbb", "a"], ["xxabbb"], ["xx", ""], "a"),
        (["", "b"], ["ab"], ["a", ""], "b"),
        (["ab", "cab"], ["xcab"], ["x", ""], "cab"),
    ],
)
def test_known_cases(stops, pieces, said, matched):
    assert run(stops, pieces) == (said, matched)


@given(stops=STOPS, pieces=st.lists(st.text("abc", max_size=4), max_size=8))
def test_any_cut_gives_the_same(stops, pieces):
    said, matched = run(stops, pieces)
    once, matched_once = run(stops, ["".join(pieces)])
    by_letter, matched_by_letter = run(stops, "".join(pieces))
    assert "".join(said) == "".join(once) == "".join(by_letter)
    assert matched == matched_once == matched_by_letter


@given(stops=STOPS, text=st.text("abc", max_size=20))
def test_text_up_to_the_first_complete_stop_string_shows_and_no_more(stops, text):
    said, matched = run(stops, [text])
    shown = "".join(said)
    assert not any(stop in shown for stop in stops if stop)
    if matched is None:
        assert shown == text
    else:
        assert text.startswith(shown + matched)
        end = len(shown + matched)
        assert not any(stop in text[: end - 1] for stop in stops if stop)
