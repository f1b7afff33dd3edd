"""Expressions mean what they should, by Python's own reading of them."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlxp_structured.patterns import avoiding, literal, searched

ENDS = ("</parameter>", "</function>", "<parameter=", "</tool_call>")
LETTERS = "</>=paramefunctiol_ x"


def python(pattern):
    return re.sub(r"\\x\{([0-9a-f]+)\}", lambda found: re.escape(chr(int(found[1], 16))), pattern)


def matched(patterns, text):
    return all(re.fullmatch(python(pattern), text, re.DOTALL) for pattern in patterns)


@settings(deadline=None)
@given(
    parts=st.lists(
        st.sampled_from([*ENDS, *(end[:-1] for end in ENDS), *LETTERS, "<", "<p", "</"]), max_size=6
    )
)
def test_texts_are_avoided_and_nothing_else_is(parts):
    text = "".join(parts)
    assert matched(avoiding(ENDS), text) == (not any(end in text for end in ENDS))


@settings(deadline=None)
@given(text=st.text('<&]>|"a', max_size=12))
@pytest.mark.parametrize("avoided", [("<", "&"), ('<|"|>',), ("<a", "<>a", "&")])
def test_single_characters_and_marks(text, avoided):
    assert matched(avoiding(avoided), text) == (not any(each in text for each in avoided))


@given(text=st.text("]>a", max_size=12))
def test_what_comes_again_in_itself_is_avoided_more_strictly_or_just_so(text):
    assert matched(avoiding(("]]>",)), text) == ("]]>" not in text)
    assert matched(avoiding(("]a]",)), text) == ("]a" not in text)


@given(text=st.text())
def test_a_literal_is_itself(text):
    assert matched([literal(text)], text)
    assert not matched([literal(text)], text + "x")


@pytest.mark.parametrize(
    "pattern", ["a", "^a", "a$", "^a$", "^a|b$", "^(a|b)$", "a|^b", "[|$^]", r"\\$", r"a\$", "(a|b)c|^d", "^"]
)
@pytest.mark.parametrize(
    "text", ["", "a", "b", "xa", "ax", "xbx", "bc", "xd", "d", "|", "$", "\\", "a$", "a$x"]
)
def test_a_pattern_is_searched_for(pattern, text):
    assert bool(re.search(pattern, text)) == matched([searched(pattern)], text)
