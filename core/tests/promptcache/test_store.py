"""The store keeps what fits, and the useful first; its values are strings here, for all it knows."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct

from mlxp_core.promptcache import Namespace, Store

HERE, ELSEWHERE = Namespace("w", "plain"), Namespace("w", "kv4")


class Block(Struct, frozen=True, eq=False):
    nbytes: int


class Words(str):
    """A value: a text that stands on blocks, and may serve less than its own length."""

    __slots__ = ("free", "length", "parts")

    def __new__(cls, text, *parts, free=False):
        made = super().__new__(cls, text)
        made.parts, made.free, made.length = parts, free, len(text)
        return made

    def reaches(self, length):
        return self.free or length == self.length


def key(text):
    return tuple(map(ord, text))


def put(store, text, *parts, free=False, namespace=HERE):
    store.put(namespace, key(text), Words(text, *(parts or [Block(10)]), free=free))


def find(store, text, namespace=HERE):
    return store.find(namespace, key(text), len(text) - 1)


def test_the_longest_beginning_serves():
    store = Store(1000)
    for text in ("a", "abc", "abcdef", "xyz"):
        put(store, text)
    found = find(store, "abcdxx")
    assert (found.value, found.length, found.shared, chr(found.other)) == ("abc", 3, 4, "e")


def test_what_can_be_cut_serves_up_to_where_sequences_part():
    store = Store(1000)
    put(store, "abc")
    put(store, "abcdef", free=True)
    assert (find(store, "abcdxx").value, find(store, "abcdxx").length) == ("abcdef", 4)


def test_the_whole_of_a_sequence_is_never_served():
    store = Store(1000)
    put(store, "abc")
    assert find(store, "abc").value is None
    put(store, "abcd", free=True)
    assert find(store, "abcd").length == 3


def test_nothing_is_cut_where_it_must_not_be():
    store = Store(1000)
    put(store, "abcdef", free=True)
    found = store.find(HERE, key("abcdxx"), 5, fit=lambda length: min(length, 2))
    assert found.length == 2


def test_namespaces_never_serve_each_other():
    store = Store(1000)
    put(store, "abc", namespace=ELSEWHERE)
    assert find(store, "abcd").value is None
    assert not find(store, "abcd").known
    store.forget(lambda namespace: namespace == ELSEWHERE)
    assert (len(store), store.nbytes) == (0, 0)


def test_shared_parts_count_once_and_leave_with_the_last():
    store, shared = Store(1000), Block(100)
    put(store, "ab", shared)
    put(store, "abc", shared, Block(7))
    assert store.nbytes == 107
    store.discard(HERE, key("ab"))
    assert store.nbytes == 107
    store.discard(HERE, key("abc"))
    assert store.nbytes == 0


def test_a_sequence_that_comes_again_is_held_once():
    store = Store(1000)
    put(store, "abc", Block(30))
    put(store, "abc", Block(40))
    assert (len(store), store.nbytes) == (1, 40)
    assert store.touch(HERE, key("abc"))
    assert not store.touch(HERE, key("ab"))


def test_the_least_recently_used_goes_first():
    dropped = []
    store = Store(30, dropped=dropped.append)
    for text in ("aa", "bb", "cc"):
        put(store, text)
    find(store, "aax")
    put(store, "dd")
    assert dropped == ["bb"]
    assert store.lost(HERE, key("bbxx"), [2])
    assert not store.lost(HERE, key("aaxx"), [2])


def test_what_several_conversations_begin_with_outlives_what_one_did():
    store = Store(40)
    put(store, "system")
    for session in "123":
        assert find(store, f"system{session}").value == "system"
    for number in range(20):
        put(store, f"other{number:02}")
        find(store, f"other{number:02}x")
    assert find(store, "system4").value == "system"


def test_no_favour_lasts_for_ever():
    store = Store(40)
    put(store, "system")
    for _ in range(50):
        find(store, "systemx")
    for number in range(800):
        put(store, f"other{number:03}")
        find(store, f"other{number:03}x")
    assert find(store, "systemx").value is None


def test_what_is_too_large_is_not_kept_and_costs_nobody_more_than_it_must():
    store = Store(50)
    put(store, "big", Block(51))
    assert (len(store), store.nbytes) == (0, 0)


@given(
    limit=st.integers(0, 60),
    texts=st.lists(
        st.tuples(
            st.text("ab", min_size=1, max_size=5), st.sets(st.integers(0, 5), min_size=1), st.booleans()
        ),
        max_size=40,
    ),
)
def test_bytes_are_those_of_live_parts_and_never_beyond_the_limit(limit, texts):
    blocks = [Block(size) for size in (1, 2, 5, 10, 20, 40)]
    store = Store(limit)
    for text, parts, asked in texts:
        put(store, text, *(blocks[part] for part in sorted(parts)))
        if asked:
            find(store, text + "c")
        live = Counter(part for value in store for part in value.parts)
        assert store.nbytes == sum(part.nbytes for part in live) <= limit
    store.shrink(0)
    assert (len(store), store.nbytes) == (0, 0)


@pytest.mark.parametrize("text", ["abc", "abcd", "abx"])
def test_relatives_are_all_that_begin_alike(text):
    store = Store(1000)
    for known in ("ab", "abcdef", "x"):
        put(store, known)
    shared = dict(store.relatives(HERE, key(text)))
    assert shared["ab"] == 2
    assert "x" not in shared
