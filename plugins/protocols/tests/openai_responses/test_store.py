"""What is kept, for how long, and what goes first; the laws hold after any run of calls."""

from types import SimpleNamespace

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from mlxp_protocols.openai_responses.store import ResponseStore, Turn

HOUR = 3600.0


def make(turn_id, parent=None, size=200):
    item = {"id": f"in_{turn_id}", "text": ""}
    said = {"output": [{"id": f"out_{turn_id}"}]}
    body = msgspec.json.encode(said)
    given = msgspec.json.encode(item)
    item["text"] = "x" * (size - len(body) - len(given))
    turn = Turn(turn_id, body, (Raw(msgspec.json.encode(item)),), parent)
    assert turn.size == size
    return turn


@pytest.fixture
def small(clock):
    """A store with room for five turns."""
    return ResponseStore(keep_s=HOUR, keep_bytes=1000, clock=lambda: clock.now)


def ids(items):
    return [msgspec.json.decode(item)["id"] for item in items]


def test_a_conversation_is_told_in_order(small):
    first = make("a")
    small.put(first)
    small.put(make("b", first))
    turn = small.get("b")
    assert ids(turn.before()) == ["in_a", "out_a", "in_b"]
    assert ids(turn.after()) == ["in_a", "out_a", "in_b", "out_b"]
    assert small.nbytes == 400


def test_bytes_are_counted_as_utf8(small):
    item = Raw(msgspec.json.encode({"id": "i", "text": "Łódź"}))
    turn = Turn("a", b'{"output":[]}', (item,))
    small.put(turn)
    assert small.nbytes == 13 + len('{"id":"i","text":"Łódź"}'.encode())


def test_a_turn_expires_by_its_creation_however_often_it_is_used(small, clock):
    small.put(make("a"))
    clock.now += HOUR - 1
    assert small.get("a") is not None
    clock.now += 1
    assert small.get("a") is None
    assert small.nbytes == 0


def test_ancestors_stay_with_what_goes_on_from_them(small, clock):
    first = make("a")
    small.put(first)
    clock.now += HOUR / 2
    small.put(make("b", first))
    clock.now += HOUR / 2
    assert small.get("a") is None
    assert ids(small.get("b").before()) == ["in_a", "out_a", "in_b"]
    assert small.nbytes == 400
    clock.now += HOUR / 2
    assert small.get("b") is None
    assert small.nbytes == 0


def test_a_turn_may_outlive_the_one_it_answers(small, clock):
    """The parent expired while the answer was made."""
    first = make("a")
    small.put(first)
    clock.now += HOUR
    assert small.get("a") is None
    assert small.put(make("b", first))
    assert ids(small.get("b").before()) == ["in_a", "out_a", "in_b"]
    assert small.nbytes == 400


def test_the_conversation_used_longest_ago_goes_first(small):
    for name in "abcde":
        small.put(make(name))
    assert small.get("a") is not None
    small.put(make("f"))
    assert [name for name in "abcdef" if small.get(name)] == list("acdef")


def test_a_conversation_loses_its_last_turn_first(small):
    old, other = make("a"), make("x")
    small.put(old)
    small.put(make("b", old))
    small.put(other)
    small.put(make("y", other))
    small.put(make("z", small.get("y")))
    small.put(make("n"))
    assert [name for name in "abxyzn" if small.get(name)] == list("axyzn")


def test_what_cannot_fit_with_all_behind_it_is_not_kept_and_drives_nothing_out(small):
    first = make("a", size=600)
    small.put(first)
    assert not small.put(make("b", first, size=500))
    assert not small.put(make("c", size=1001))
    assert small.get("a") is first
    assert small.nbytes == 600


def test_a_turn_is_replaced_by_one_with_its_id(small):
    small.put(make("a", size=300))
    again = make("a")
    small.put(again)
    assert small.get("a") is again
    assert small.nbytes == 200


def test_items_are_found_as_long_as_their_turn_is_listed(small):
    small.put(make("a"))
    assert ids([small.find_item("in_a"), small.find_item("out_a")]) == ["in_a", "out_a"]
    assert small.drop("a")
    assert not small.drop("a")
    assert small.find_item("in_a") is small.find_item("other") is None


CALLS = st.lists(
    st.tuples(st.just("put"), st.integers(60, 600), st.integers(0, 30))
    | st.tuples(st.sampled_from(["drop", "get"]), st.integers(0, 30), st.just(0))
    | st.tuples(st.just("wait"), st.integers(1, 1800), st.just(0)),
    max_size=40,
)


@given(CALLS)
def test_bytes_are_those_of_listed_turns_and_what_is_behind_them(calls):
    clock = SimpleNamespace(now=0.0)
    store = ResponseStore(keep_s=HOUR, keep_bytes=1500, clock=lambda: clock.now)
    made = []
    for kind, first, second in calls:
        match kind:
            case "put":
                parent = made[-1 - second] if second < len(made) else None
                made.append(make(str(len(made)), parent, size=first))
                kept = store.put(made[-1])
                assert kept == (sum(turn.size for turn in made[-1].chain()) <= 1500)
                assert (store.get(made[-1].id) is made[-1]) == kept
            case "drop":
                store.drop(str(first))
            case "get":
                store.get(str(first))
            case "wait":
                clock.now += first
        listed = [turn for turn in made if store.get(turn.id) is turn]
        behind = {one for turn in listed for one in turn.chain()}
        assert store.nbytes == sum(turn.size for turn in behind) <= 1500
        found = {turn.id for turn in made if store.find_item(f"in_{turn.id}") is not None}
        assert found == {turn.id for turn in listed}
