"""What prompts are known by."""

import hashlib

from hypothesis import given
from hypothesis import strategies as st

from mlxp_core.contracts import ImageSpan
from mlxp_core.promptcache import outside_images, prompt_key, weights_identity

DIGESTS = [hashlib.sha256(name).hexdigest() for name in (b"cat", b"dog")]


def test_plain_prompts_are_known_by_their_tokens():
    assert prompt_key((1, 2, 3), (), ()) == (1, 2, 3)


def test_images_of_one_size_are_told_apart_and_are_no_tokens():
    span = ImageSpan(2, 3, (1, 1, 3))
    cat, dog = (prompt_key((1, 2, 9, 9, 9, 4), (span,), (digest,)) for digest in DIGESTS)
    assert cat[:2] == dog[:2] == (1, 2)
    assert cat[5] == dog[5] == 4
    assert not set(cat[2:5]) & set(dog[2:5])
    assert all(token < 0 for token in cat[2:5])


@given(starts=st.lists(st.integers(1, 6), max_size=4), length=st.integers(0, 60))
def test_the_longest_beginning_that_ends_within_no_image(starts, length):
    spans, place = [], 0
    for gap in starts:
        spans.append(ImageSpan(place + gap, 5, (1, 1, 5)))
        place = spans[-1].end
    cut = outside_images(length, spans)
    inside = {n for span in spans for n in range(span.start + 1, span.end)}
    assert cut == max(n for n in range(length + 1) if n not in inside)


def test_weights_are_told_apart_by_what_is_in_the_files(tmp_path):
    one, other = tmp_path / "a.safetensors", tmp_path / "b.safetensors"
    one.write_bytes(b"x" * 1000)
    other.write_bytes(b"y" * 1000)
    before = weights_identity([one, other], "float32")
    assert before == weights_identity([other, one], "float32")
    assert before != weights_identity([one, other], "bfloat16")
    assert before != weights_identity([one], "float32")
    one.write_bytes(b"x" * 999 + b"z")
    assert before != weights_identity([one, other], "float32")
