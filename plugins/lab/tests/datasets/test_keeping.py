"""Datasets on disk: kept, found, split, edited, without twins."""

import json
from threading import Event, Thread

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlxp_core.errors import BadRequest, Conflict, NotFound
from mlxp_lab.datasets.editing import Edit, edit, page
from mlxp_lab.datasets.keeping import keep, rekeep
from mlxp_lab.datasets.shelf import Origin, Shelf, card_of
from mlxp_lab.datasets.splitting import divided, good_lines, lines_dealt
from mlxp_lab.datasets.twins import Twins, likeness, pieces_of
from mlxp_lab.jobs import BadParameters

shares = st.floats(0, 0.45)
texts = st.lists(st.text(alphabet="abc", max_size=3), max_size=40)


def lines(*words):
    return [json.dumps({"text": word}).encode() for word in words]


@pytest.fixture
def shelf(tmp_path):
    return Shelf(tmp_path / "datasets")


@pytest.fixture
def kept(shelf):
    """A dataset of three texts."""
    place = shelf.free("words", replace=False)
    keep(place, {"train": lines("a", "b", "c")}, Origin(kind="import", source="words.csv"), replace=False)
    return place


def test_what_is_kept_is_found_listed_and_removed(shelf, kept, tmp_path):
    assert shelf.get("words") == shelf.find("words") == shelf.find(str(kept)) == kept
    assert shelf.find(str(kept / "train.jsonl")) == kept / "train.jsonl"
    (card,) = shelf.cards()
    assert (card.name, card.form, card.splits, card.origin.source) == (
        "words",
        "text",
        {"train": 3},
        "words.csv",
    )
    shelf.remove("words")
    assert shelf.cards() == []
    with pytest.raises(NotFound):
        shelf.get("words")
    assert list((tmp_path / "datasets").iterdir()) == []


@pytest.mark.parametrize(
    "ref", ["", "..", "no/such", "words/", "/", "~nobody/x", "a\0b", "x" * 5000, "/no" * 2000]
)
def test_what_is_not_there_is_refused(shelf, ref):
    with pytest.raises(BadParameters):
        shelf.find(ref)
    with pytest.raises(NotFound):
        shelf.get(ref)


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", ".hidden", "a" * 97, "a\0", "ä", "a\n"])
def test_names_that_lead_elsewhere_name_nothing(shelf, name):
    with pytest.raises(BadParameters):
        shelf.free(name, replace=True)


def test_one_that_is_there_is_replaced_only_on_demand(shelf, kept):
    with pytest.raises(Conflict):
        shelf.free("words", replace=False)
    with pytest.raises(Conflict):
        keep(kept, {"train": lines("x")}, Origin(), replace=False)
    keep(shelf.free("words", replace=True), {"train": lines("x")}, Origin(), replace=True)
    assert card_of(kept).splits == {"train": 1}


def test_a_list_never_sees_half_of_a_dataset_that_is_being_replaced(shelf, kept):
    stop, seen = Event(), []

    def look():
        while not stop.is_set():
            seen.extend(card.splits for card in shelf.cards())

    looking = Thread(target=look)
    looking.start()
    for count in range(20):
        keep(kept, {"train": lines(*"abc"[: 1 + count % 3])}, Origin(), replace=True)
    stop.set()
    looking.join()
    assert {splits["train"] for splits in seen} <= {1, 2, 3}
    shelf.cards()


@given(texts, shares, shares, st.integers(0, 5))
def test_every_row_is_dealt_once_and_equal_ones_stay_together(told, valid, test, seed):
    dealt = divided(told, valid=valid, test=test, seed=seed)
    assert sorted(place for places in dealt.values() for place in places) == list(range(len(told)))
    where = {(told[place], split) for split, places in dealt.items() for place in places}
    assert len(where) == len(set(told))
    assert bool(dealt["train"]) == bool(told)
    assert bool(dealt["valid"]) == (valid > 0 and len(set(told)) > 1)
    assert dealt == divided(told, valid=valid, test=test, seed=seed)


def test_shares_are_of_all_rows_and_the_seed_alone_decides():
    told = [str(number) for number in range(200)]
    one = divided(told, valid=0.1, test=0.05, seed=1)
    assert {split: len(places) for split, places in one.items()} == {"train": 170, "valid": 20, "test": 10}
    assert one != divided(told, valid=0.1, test=0.05, seed=2)


@pytest.mark.parametrize(("valid", "test"), [(1, 0), (0.5, 0.5), (-0.1, 0), (0, 2), (float("nan"), 0)])
def test_shares_that_leave_nothing_are_refused(valid, test):
    with pytest.raises(BadParameters):
        divided(["a", "b"], valid=valid, test=test, seed=0)


def test_a_dataset_is_split_anew_and_stays_what_it_was(kept):
    for seed in (1, 2):
        found, said = good_lines(kept)
        rekeep(kept, lines_dealt(found, said, valid=0.3, test=0.3, seed=seed))
        card = card_of(kept)
        assert (card.splits, card.origin.source) == ({"train": 1, "valid": 1, "test": 1}, "words.csv")
    found, said = good_lines(kept)
    assert sorted(found) == lines("a", "b", "c")
    rekeep(kept, lines_dealt(found, said, valid=0, test=0, seed=0))
    assert card_of(kept).splits == {"train": 3}


def test_a_dataset_with_faults_is_not_split(kept):
    (kept / "valid.jsonl").write_text("no\n")
    with pytest.raises(BadRequest, match=r"valid.jsonl, line 1: .* Mend it first"):
        good_lines(kept)


@given(st.lists(st.sampled_from(["", "a", "b", "no"]), max_size=12), st.integers(0, 14), st.integers(0, 14))
def test_pages_are_cut_from_the_file(tmp_path_factory, told, offset, limit):
    path = tmp_path_factory.mktemp("pages") / "train.jsonl"
    path.write_bytes(b"\n".join(b"no" if word == "no" else lines(word)[0] if word else b"" for word in told))
    wanted = [(number, word) for number, word in enumerate(told, start=1) if word]
    found = page(path, offset, limit)
    assert found.total == len(wanted)
    shown = wanted[offset : offset + limit]
    assert [row.line for row in found.rows] == [number for number, _ in shown]
    assert [row.text if row.row is None else row.row["text"] for row in found.rows] == [
        word for _, word in shown
    ]
    assert all(bool(row.fault) == (word == "no") for row, (_, word) in zip(found.rows, shown, strict=True))


def test_edits_change_what_they_name(kept):
    path = kept / "train.jsonl"
    version = page(path, 0, 9).version
    done = edit(
        path, version, [Edit(line=1), Edit(line=3, row={"text": "C"}), Edit(row={"text": "d", "id": 1})]
    )
    told = page(path, 0, 9)
    assert [row.row for row in told.rows] == [{"text": "b"}, {"text": "C"}, {"text": "d", "id": 1}]
    assert (done.total, done.version) == (3, told.version)


@pytest.mark.parametrize(
    "wrong",
    [
        Edit(line=9),
        Edit(line=0),
        Edit(line=9, row={"text": "a"}),
        Edit(),
        Edit(line=1, row={"text": ""}),
        Edit(row={}),
    ],
)
def test_wrong_edits_change_nothing(kept, wrong):
    path = kept / "train.jsonl"
    before = path.read_bytes()
    with pytest.raises(BadParameters):
        edit(path, page(path, 0, 1).version, [Edit(line=1), wrong])
    assert path.read_bytes() == before
    assert [each.name for each in kept.iterdir() if each.name.startswith(".")] == []


def test_edits_of_rows_that_have_changed_meanwhile_are_refused(kept):
    path = kept / "train.jsonl"
    version = page(path, 0, 1).version
    edit(path, version, [Edit(line=1)])
    with pytest.raises(Conflict):
        edit(path, version, [Edit(line=1)])


@given(st.lists(st.text(max_size=40), max_size=15), st.sampled_from([0.7, 0.8, 1.0]))
def test_no_text_that_is_kept_is_like_an_earlier_one(told, near):
    twins = Twins(near)
    kept = [text for text in told if twins.like(text) is None]
    assert len(twins) == len(kept)
    pieces = [pieces_of(text) for text in kept]
    for place, one in enumerate(pieces):
        assert all(likeness(one, other) < near for other in pieces[:place])


@given(st.text(max_size=60))
def test_a_text_is_like_itself_whatever_its_case_and_spaces(text):
    twins = Twins(1.0)
    assert twins.like(text) is None
    assert twins.like(f"  {text}\n") == 0


def test_a_changed_word_makes_a_twin_and_another_text_none():
    twins = Twins(0.8)
    text = "The quick brown fox jumps over the lazy dog while the old cat sleeps on the warm stone wall all day long."
    assert twins.like(text) is None
    assert twins.like(text.replace("long", "lang")) == 0
    assert twins.like("Another thing entirely is written here, about rivers and the boats on them.") is None
