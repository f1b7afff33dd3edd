"""The tree agrees with a list that is looked through from end to end."""

from hypothesis import given
from hypothesis import strategies as st

from mlxp_core.promptcache import PrefixTree

KEYS = st.lists(st.integers(0, 2), max_size=7).map(tuple)


def common(one, other):
    length = 0
    while length < min(len(one), len(other)) and one[length] == other[length]:
        length += 1
    return length


def made(keys):
    tree = PrefixTree()
    for key in keys:
        tree.put(key, str(key))
    return tree


@given(keys=st.lists(KEYS, max_size=12), dropped=st.lists(KEYS, max_size=6), asked=KEYS)
def test_matches_are_those_of_a_list(keys, dropped, asked):
    tree, held = made(keys), {key: str(key) for key in keys}
    for key in [*dropped, *keys[::2]]:
        assert tree.drop(key) == held.pop(key, None)
    assert len(tree) == len(held)
    assert sorted(tree) == sorted(held.values())
    assert all(tree.get(key) == value for key, value in held.items())
    match = tree.match(asked)
    assert match.length == max((common(asked, key) for key in held), default=0)
    beginnings = sorted((len(key), value) for key, value in held.items() if asked[: len(key)] == key)
    assert list(match.above) == beginnings
    nearest = min((len(key) for key in held if common(asked, key) >= match.length), default=None)
    assert (match.below is None) == (nearest is None)
    if match.below is not None:
        assert any(value == match.below and len(key) == nearest for key, value in held.items())


@given(keys=st.lists(KEYS, min_size=1, max_size=12), asked=KEYS)
def test_the_other_token_is_one_that_a_known_sequence_has_there(keys, asked):
    match = made(keys).match(asked)
    if match.other is None:
        assert match.length == len(asked) or not any(
            len(key) > match.length and key[: match.length] == asked[: match.length] for key in keys
        )
    else:
        assert match.other != asked[match.length]
        assert any(key[: match.length + 1] == (*asked[: match.length], match.other) for key in keys)


@given(keys=st.lists(KEYS, max_size=12))
def test_what_is_dropped_leaves_no_nodes(keys):
    tree = made(keys)
    for key in keys:
        tree.drop(key)
    assert tree._root.children == {}


def test_putting_again_gives_the_old_value_back():
    tree = PrefixTree()
    assert tree.put((1, 2), "one") is None
    assert tree.put((1, 2), "other") == "one"
    assert len(tree) == 1
    assert tree.get((1,)) is None
