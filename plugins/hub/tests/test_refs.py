import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlxp_core.errors import SetupError
from mlxp_hub.refs import MAIN, Ref, parse, required

WORDS = st.from_regex(r"[A-Za-z0-9]([A-Za-z0-9_.]?[A-Za-z0-9]){0,8}", fullmatch=True)


@given(owner=WORDS, name=WORDS, revision=st.sampled_from([MAIN, "v1", "refs/pr/1", "0123abc"]))
def test_what_a_reference_is_written_as_is_read_as_it(owner, name, revision):
    ref = Ref(f"{owner}/{name}", revision)
    assert parse(str(ref)) == ref


@pytest.mark.parametrize(
    "text",
    [
        "",
        "name",
        "a/b/c",
        "./a/b",
        "/a/b",
        "~/a",
        "../a",
        "a/..",
        "a/b@",
        "a b/c",
        "a--b/c",
        "a/b..c",
        "-a/b",
        "a/b-",
    ],
)
def test_what_is_no_reference_is_none(text):
    assert parse(text) is None
    with pytest.raises(SetupError, match="owner/name"):
        required(text)
