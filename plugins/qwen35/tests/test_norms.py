"""Norms: the formula, in the type of what is normed, with all digits of the weight."""

import mlx.core as mx
import pytest

from mlxp_qwen35.norms import GatedNorm, Norm

DIMS, EPS = 32, 1e-6


def drawn(seed, *shape):
    return mx.random.normal(shape, key=mx.random.key(seed))


def plain(x, weight):
    return x / mx.sqrt((x * x).mean(axis=-1, keepdims=True) + EPS) * weight


@pytest.mark.parametrize("dtype", [mx.float32, mx.bfloat16, mx.float16])
def test_a_wide_weight_keeps_its_digits_and_changes_no_type(dtype):
    norm, x = Norm(DIMS, EPS), drawn(0, 3, DIMS).astype(dtype)
    norm.weight = 1 + 1e-3 * drawn(1, DIMS)
    found = norm(x)
    assert found.dtype == dtype
    wide = x.astype(mx.float32)
    digits = {mx.float32: 1e-5, mx.bfloat16: 2**-7, mx.float16: 2**-10}[dtype]
    assert mx.allclose(found.astype(mx.float32), plain(wide, norm.weight), rtol=digits, atol=0)
    narrow = Norm(DIMS, EPS)
    narrow.weight = norm.weight.astype(dtype)
    assert narrow(x).dtype == dtype
    assert mx.allclose(narrow(x).astype(mx.float32), plain(wide, norm.weight), rtol=2 * digits, atol=0)


@pytest.mark.parametrize("dtype", [mx.float32, mx.bfloat16])
def test_the_gate_opens_after_the_norm(dtype):
    norm, x, gate = GatedNorm(DIMS, EPS), drawn(2, 3, DIMS), drawn(3, 3, DIMS).astype(dtype)
    norm.weight = 1 + drawn(4, DIMS)
    wide = gate.astype(mx.float32)
    expected = plain(x, norm.weight) * wide * mx.sigmoid(wide)
    found = norm(x, gate)
    assert found.dtype == dtype
    assert mx.allclose(
        found.astype(mx.float32), expected, rtol=1e-5 if dtype == mx.float32 else 2**-7, atol=1e-6
    )
