from hypothesis import given
from hypothesis import strategies as st

from mlxp_core.plugins.clashes import Brought, clashes

THINGS = st.lists(
    st.builds(
        Brought, st.sampled_from("abc"), st.sampled_from(["family", "protocol"]), st.sampled_from("xyz")
    ),
    max_size=8,
)
DESCRIBED = {"a": "a (mod_a, dist-a 1)", "b": "b (mod_b, dist-b 2)", "c": "c (mod_c, dist-c 3)"}


@given(THINGS)
def test_exactly_the_owners_of_something_doubled_are_at_fault(things):
    keys = [(thing.kind, thing.name) for thing in things]
    expected = {thing.owner for thing in things if keys.count((thing.kind, thing.name)) > 1}
    assert set(clashes(things, DESCRIBED)) == expected


@given(THINGS, st.randoms())
def test_the_order_decides_nothing(things, random):
    shuffled = list(things)
    random.shuffle(shuffled)
    assert set(clashes(things, DESCRIBED)) == set(clashes(shuffled, DESCRIBED))


def test_the_message_names_both_with_their_distributions():
    text = clashes([Brought("a", "family", "x"), Brought("b", "family", "x")], DESCRIBED)["a"]
    assert "a (mod_a, dist-a 1) and b (mod_b, dist-b 2) both bring the family 'x'" in text


def test_one_plugin_bringing_a_name_twice_is_told_so():
    text = clashes([Brought("a", "family", "x"), Brought("a", "family", "x")], DESCRIBED)["a"]
    assert text == "a (mod_a, dist-a 1) brings the family 'x' twice"
