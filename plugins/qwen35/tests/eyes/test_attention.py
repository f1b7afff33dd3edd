"""Attention over an image: what it computes, however little may be kept of it."""

import mlx.core as mx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlxp_qwen35.eyes.attention import SCORES, attend


def heads_of(heads, patches, dim):
    return mx.random.normal((3, 1, heads, patches, dim), key=mx.random.key(dim))


def plain(q, k, v):
    scores = mx.einsum("bhid,bhjd->bhij", q, k) / q.shape[-1] ** 0.5
    return mx.einsum("bhij,bhjd->bhid", mx.softmax(scores, axis=-1), v)


@pytest.mark.parametrize("dim", [4, 64, 72, 80, 96, 128, 132])
def test_heads_of_any_width_give_what_the_definition_says(dim):
    q, k, v = heads_of(2, 9, dim)
    assert mx.allclose(attend(q, k, v), plain(q, k, v), atol=1e-5)


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 3), st.integers(1, 30), st.integers(1, 2000))
def test_how_much_may_be_kept_changes_nothing(heads, patches, scores):
    q, k, v = heads_of(heads, patches, 8)
    assert mx.allclose(attend(q, k, v, scores=scores), plain(q, k, v), atol=1e-5)


def test_memory_is_bounded_whatever_the_image():
    q, k, v = heads_of(1, 2000, 64)
    mx.eval(q, k, v)
    own = q.nbytes + k.nbytes + v.nbytes

    def peak(scores):
        mx.clear_cache()
        mx.reset_peak_memory()
        mx.eval(attend(q, k, v, scores=scores))
        return mx.get_peak_memory() - own

    assert peak(SCORES) >= 2000 * 2000 * 4
    for slices in (4, 80):
        kept = 2000 * 2000 // slices
        assert peak(kept) <= 1.5 * kept * 4 + 4 * own, slices
