"""Bitmasks over logits."""

import mlx.core as mx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlxp_core.errors import EngineFault
from mlxp_core.sampling.mask import forbid


def bitmask(tokens, size):
    octets = bytearray(-(-size // 8))
    for token in tokens:
        octets[token // 8] |= 1 << token % 8
    return bytes(octets)


@settings(deadline=None)
@given(st.data(), st.integers(1, 70), st.sampled_from([mx.float32, mx.bfloat16]))
def test_only_named_rows_lose_only_forbidden_tokens(data, size, dtype):
    allowed = data.draw(
        st.dictionaries(st.integers(0, 3), st.sets(st.integers(0, size - 1), min_size=1), max_size=4)
    )
    logits = mx.random.normal((4, size)).astype(dtype)
    out = forbid(logits, {row: bitmask(tokens, size) for row, tokens in allowed.items()})
    assert out.dtype == dtype
    expected = np.array(logits.astype(mx.float32))
    for row, tokens in allowed.items():
        expected[row, [token for token in range(size) if token not in tokens]] = -np.inf
    assert (np.array(out.astype(mx.float32)) == expected).all()


def test_missing_bits_forbid_and_bits_beyond_are_not_looked_at():
    out = forbid(mx.zeros((1, 12)), {0: b"\x81"})
    assert np.flatnonzero(np.array(out[0]) == 0).tolist() == [0, 7]
    assert mx.array_equal(forbid(mx.zeros((1, 12)), {0: b"\x81\x00\xff\xff"}), out)


@pytest.mark.parametrize("mask", [b"", b"\0\0", b"\0\xf0", b"\0\0\xff"])
def test_a_mask_without_a_possible_token_is_named(mask):
    with pytest.raises(EngineFault, match="row 1: the constraint allows none of 12 tokens"):
        forbid(mx.zeros((2, 12)), {0: b"\xff", 1: mask})


def test_the_callers_logits_stay_as_they_are():
    logits = mx.zeros((2, 8))
    forbid(logits, {1: b"\x01"})
    assert not mx.isinf(logits).any()
