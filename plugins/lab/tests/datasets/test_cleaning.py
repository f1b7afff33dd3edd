"""Rows that are not worth keeping."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlxp_core.errors import BadRequest
from mlxp_lab.datasets.cleaning import clean
from mlxp_lab.datasets.inspect import inspect
from mlxp_lab.datasets.rows import read_row
from mlxp_lab.datasets.sieve import Limits, Sieve, repeats

USUAL = Limits(shortest=1, near=0.8)
SENTENCE = "The quick brown fox jumps over the lazy dog while the old cat sleeps all day long."


def chat(asked, answer, system=""):
    said = [("system", system), ("user", asked), ("assistant", answer)]
    return {"messages": [{"role": role, "content": words} for role, words in said if words]}


def written(folder, **splits):
    """Write a dataset; a text that is no JSON stays as it is."""
    for split, rows in splits.items():
        lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
        (folder / f"{split}.jsonl").write_text("\n".join(lines) + "\n")
    return folder


def verdicts(*rows, limits=USUAL):
    sieve = Sieve(limits)
    return [sieve.take(read_row(json.dumps(row))) for row in rows]


def test_each_row_that_goes_has_a_reason():
    assert verdicts(
        chat("What is red?", SENTENCE),
        chat("What is red?", SENTENCE.replace("long", "lang")),
        chat("Say it.", "say  IT."),
        chat("Tell me.", "on and on we go " * 10),
        {"prompt": "Same", "completion": "same"},
    ) == [
        None,
        "nearly the same as an earlier row",
        "the answer is what was asked",
        "the answer repeats itself",
        "the answer is what was asked",
    ]
    assert verdicts(chat("a", "yes"), chat("b", "certainly"), limits=Limits(shortest=4, near=1)) == [
        "the answer is too short",
        None,
    ]


def test_what_rows_share_by_their_making_does_not_make_them_alike():
    passage = SENTENCE * 5
    assert verdicts(chat("Who jumps?", "The fox.", passage), chat("Who is lazy?", "The dog.", passage)) == [
        None,
        None,
    ]


def test_a_row_that_only_calls_a_tool_is_not_too_short():
    call = {"role": "assistant", "tool_calls": [{"function": {"name": "look", "arguments": "{}"}}]}
    assert verdicts({"messages": [{"role": "user", "content": "Look."}, call]}) == [None]


@given(st.lists(st.sampled_from("abcdefghijklmnopqrstuvwxyz"), min_size=20, max_size=26, unique=True))
def test_words_that_all_differ_repeat_nothing_and_said_thrice_they_do(words):
    assert not repeats(" ".join(words))
    assert repeats(" ".join(words * 3))


def test_a_dataset_is_told_what_would_go_and_then_cleaned(tmp_path):
    place = written(
        tmp_path,
        train=[{"text": SENTENCE}, "no", {"text": SENTENCE.upper()}, {"text": "Something else entirely."}],
        valid=[{"text": SENTENCE}, {"text": "A row of its own, to watch with."}],
    )
    before = {path.name: path.read_bytes() for path in place.iterdir()}
    found = clean(place, USUAL, really=False)
    assert {path.name: path.read_bytes() for path in place.iterdir()} == before
    assert [(each.split, each.line, each.why) for each in found.remarks] == [
        ("train", 2, "no row"),
        ("train", 3, "nearly the same as an earlier row"),
        ("valid", 1, "nearly the same as an earlier row"),
    ]
    done = clean(place, USUAL, really=True)
    assert (done.kept, done.dropped, done.remarks) == (found.kept, found.dropped, found.remarks)
    assert done.card.splits == {"train": 2, "valid": 1}
    assert inspect(place).good
    assert inspect(place).shared == 0
    assert clean(place, USUAL, really=True).dropped == {}


def test_a_dataset_of_which_nothing_would_be_left_stays(tmp_path):
    place = written(tmp_path, train=["no"])
    with pytest.raises(BadRequest, match="nothing was changed"):
        clean(place, USUAL, really=True)
    assert (place / "train.jsonl").read_text() == "no\n"
