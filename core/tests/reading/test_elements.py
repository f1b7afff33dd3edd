"""The text between two tags."""

import html

from hypothesis import given
from hypothesis import strategies as st

from mlxp_core.reading import ElementText

SCRAPS = [
    "</p>",
    "</",
    "<![CDATA[",
    "]]>",
    "]",
    "&amp;",
    "&lt;",
    "&#65;",
    "&",
    "am",
    ";",
    "\n",
    " ",
    "a",
    "<",
]


def run(pieces, *, markup=True):
    element = ElementText(("</p>",), markup=markup)
    out = ""
    for place, piece in enumerate(pieces):
        out += element.feed(piece)
        if element.end is not None:
            return out, element.end, element.rest + "".join(pieces[place + 1 :])
    return out + element.finish(), None, ""


@given(st.lists(st.sampled_from(SCRAPS), max_size=16), st.booleans())
def test_any_cut_gives_the_same(pieces, markup):
    text = "".join(pieces)
    assert run(pieces, markup=markup) == run([text], markup=markup) == run(list(text), markup=markup)


@given(st.text())
def test_cdata_carries_anything(text):
    written = "<![CDATA[" + text.replace("]]>", "]]]]><![CDATA[>") + "]]>"
    assert run([f" {written}\n</p>rest"]) == (text, "</p>", "rest")


@given(st.text())
def test_escaped_text_comes_back_once_decoded(text):
    assert run([f"\n{html.escape(text)}\n</p>"])[0] == text


@given(st.text("a&;lt<! \n"))
def test_without_markup_only_the_end_counts(text):
    assert run([f"\n{text}\n</p>"], markup=False)[0] == text
