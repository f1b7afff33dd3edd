import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct

from mlxp_core.contracts import RequestField
from mlxp_core.errors import BadRequest
from mlxp_protocols.body import BodyReader


class Leaf(Struct, tag_field="type", tag="leaf"):
    colour: str | None = None


class Twig(Struct, tag_field="type", tag="twig"):
    leaves: list["Leaf | Twig"] | None = None


class Tree(Struct):
    root: Leaf | Twig | None = None
    height: int | None = None
    free: dict[str, object] | None = None


FIELDS = (
    RequestField("root", "honoured"),
    RequestField("height", "honoured"),
    RequestField("free", "honoured"),
    RequestField("owner", "accepted"),
    RequestField("axe", "refused", "trees are not felled here; leave it out"),
)
READER = BodyReader(Tree, FIELDS, {"root.leaves[].type": "use leaf or twig"})


def read(body):
    return READER.read(msgspec.json.encode(body))


def test_known_fields_are_silent():
    body = {
        "root": {"type": "twig", "leaves": [{"type": "leaf", "colour": "red"}]},
        "owner": 1,
        "free": {"x": {}},
    }
    assert read(body)[1] == ()


def test_unknown_fields_are_found_by_the_tag_that_was_read():
    leaf = {"type": "leaf", "leaves": 1}
    twig = {"type": "twig", "colour": "red", "leaves": [leaf, leaf]}
    assert read({"root": twig, "new": 1})[1] == ("root.colour", "root.leaves[].leaves", "new")


def test_refused_fields_are_refused_unless_null():
    assert read({"axe": None})[1] == ()
    with pytest.raises(BadRequest, match="axe is not supported: trees are not felled here") as caught:
        read({"axe": False})
    assert caught.value.param == "axe"


def test_faults_come_with_their_hint():
    with pytest.raises(BadRequest) as caught:
        read({"root": {"type": "twig", "leaves": [{"type": "bark"}]}})
    assert caught.value.message == "root.leaves[0].type: invalid value 'bark'; use leaf or twig"
    assert caught.value.param == "root.leaves[0].type"


def test_quotes_in_values_do_not_confuse_the_path():
    with pytest.raises(BadRequest) as caught:
        read({"root": {"type": "x - at `$.height`"}})
    assert caught.value.param == "root.type"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["root", "type", "leaves", "x"]), inner),
)


@given(JSON)
def test_only_bad_request_is_raised_and_every_unknown_name_was_sent(body):
    encoded = msgspec.json.encode(body)
    try:
        _, unknown = READER.read(encoded)
    except BadRequest:
        return
    assert isinstance(body, dict)
    assert all(path.rpartition(".")[2] in encoded.decode() for path in unknown)
