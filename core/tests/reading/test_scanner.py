"""Markers in text that arrives in pieces."""

from hypothesis import given
from hypothesis import strategies as st

from mlxp_core.reading import MarkerScanner, might_begin, overlap

MARKERS = st.lists(st.text("ab<", min_size=1, max_size=4), max_size=4)


def scan(markers, pieces):
    """Return the text and the markers, in order, as one list with neighbouring texts joined."""
    scanner, out = MarkerScanner(markers), [""]
    for piece in pieces:
        text = piece
        while text:
            before, marker, text = scanner.feed(text)
            out[-1] += before
            if marker is not None:
                out += [(marker,), ""]
    out[-1] += scanner.flush()
    return out


@given(markers=MARKERS, pieces=st.lists(st.text("ab<", max_size=4), max_size=10))
def test_any_cut_gives_the_same(markers, pieces):
    assert scan(markers, pieces) == scan(markers, ["".join(pieces)]) == scan(markers, "".join(pieces))


@given(markers=MARKERS, pieces=st.lists(st.text("ab<", max_size=4), max_size=10))
def test_nothing_is_lost_and_no_marker_stays_in_the_text(markers, pieces):
    found = scan(markers, pieces)
    assert "".join(part if isinstance(part, str) else part[0] for part in found) == "".join(pieces)
    assert not any(marker in part for part in found if isinstance(part, str) for marker in markers)


@given(text=st.text("ab<", max_size=8), markers=MARKERS)
def test_overlap_is_the_longest_tail_that_may_go_on(text, markers):
    tails = [length for length in range(len(text) + 1) if might_begin(text[len(text) - length :], markers)]
    assert overlap(text, markers) == max(tails, default=0)


def test_only_a_possible_beginning_is_held():
    scanner = MarkerScanner(["<think>"])
    assert scanner.feed("a <thi") == ("a ", None, "")
    assert scanner.held == "<thi"
    assert scanner.feed("s <") == ("<this ", None, "")
    assert scanner.feed("think>b") == ("", "<think>", "b")
