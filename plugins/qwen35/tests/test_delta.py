"""The delta rule: both forms are the rule, at any length, border, decay, state and raggedness."""

import mlx.core as mx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlxp_qwen35 import delta
from mlxp_qwen35.delta import chunk_by_chunk, gated_delta, token_by_token, unit_triangular_inverse

DECAYS = {
    "ordinary": lambda x: -mx.exp(x - 1),
    "none": mx.zeros_like,
    "barely any": lambda x: -1e-6 * mx.exp(x),
    "nearly all": lambda x: -20 * mx.exp(x),
    "all": lambda x: mx.full(x.shape, -1e4),
    "now and then": lambda x: mx.where(x > 1, -200.0, -1e-3),
}


def drawn(seed, rows, width, *, key_heads=2, groups=2, key_dim=8, value_dim=4, decay="ordinary", alike=0.0):
    """Return arguments of the rule; with ``alike`` near 1, all keys of a head point the same way."""
    keys = iter(mx.random.split(mx.random.key(seed), 8))
    heads = key_heads * groups

    def unit(x):
        return x / mx.linalg.norm(x, axis=-1, keepdims=True)

    q, k = (unit(mx.random.normal((rows, width, key_heads, key_dim), key=next(keys))) for _ in range(2))
    common = unit(mx.random.normal((rows, 1, key_heads, key_dim), key=next(keys)))
    v = mx.random.normal((rows, width, heads, value_dim), key=next(keys))
    g = DECAYS[decay](mx.random.normal((rows, width, heads), key=next(keys)))
    b = mx.sigmoid(3 * mx.random.normal((rows, width, heads), key=next(keys)))
    state = mx.random.normal((rows, heads, value_dim, key_dim), key=next(keys))
    return q * key_dim**-0.5, unit((1 - alike) * k + alike * common), v, g, b, state


def plain(q, k, v, g, b, state):
    """Compute the rule for each row, head and token by itself, as the module's first page has it."""
    rows, width, heads, _ = v.shape
    groups = heads // k.shape[2]
    answers, states = [], []
    for row in range(rows):
        for head in range(heads):
            s = state[row, head]
            for token in range(width):
                key, query = k[row, token, head // groups], q[row, token, head // groups]
                s = mx.exp(g[row, token, head]) * s
                error = b[row, token, head] * (v[row, token, head] - s @ key)
                s = s + error[:, None] * key
                answers.append(s @ query)
            states.append(s)
    out = mx.stack(answers).reshape(rows, heads, width, -1).swapaxes(1, 2)
    return out, mx.stack(states).reshape(state.shape)


def assert_same(found, expected, tolerance=2e-5):
    for one, other in zip(found, expected, strict=True):
        assert one.shape == other.shape
        assert one.dtype == mx.float32
        assert mx.abs(one - other).max() <= tolerance * mx.maximum(1, mx.abs(other).max())


@pytest.mark.parametrize("decay", DECAYS)
def test_token_by_token_is_the_rule(decay):
    arguments = drawn(1, 2, 5, decay=decay)
    assert_same(token_by_token(*arguments), plain(*arguments))


@given(
    seed=st.integers(0, 2**16),
    width=st.integers(1, 70),
    chunk=st.sampled_from([2, 4, 8, 16, 64]),
    decay=st.sampled_from(sorted(DECAYS)),
    alike=st.sampled_from([0.0, 0.9, 1.0]),
)
@settings(max_examples=60, deadline=None)
def test_chunk_by_chunk_is_token_by_token(seed, width, chunk, decay, alike):
    arguments = drawn(seed, 2, width, decay=decay, alike=alike)
    assert_same(chunk_by_chunk(*arguments, chunk=chunk), token_by_token(*arguments))


@given(
    cuts=st.lists(st.integers(1, 40), min_size=1, max_size=5),
    seed=st.integers(0, 2**16),
    decay=st.sampled_from(sorted(DECAYS)),
)
@settings(max_examples=25, deadline=None)
def test_a_sequence_may_be_cut_anywhere(cuts, seed, decay):
    *parts, state = drawn(seed, 1, sum(cuts), decay=decay)
    answers, begin, running = [], 0, state
    for cut in cuts:
        answer, running = gated_delta(*(part[:, begin : begin + cut] for part in parts), running)
        answers.append(answer)
        begin += cut
    assert_same((mx.concatenate(answers, axis=1), running), token_by_token(*parts, state))


@given(counts=st.lists(st.integers(0, 40), min_size=1, max_size=4), seed=st.integers(0, 2**16))
@settings(max_examples=25, deadline=None)
def test_padded_tokens_leave_the_state_alone(counts, seed):
    width = max(1, *counts)
    q, k, v, g, b, state = drawn(seed, len(counts), width)
    real = (mx.arange(width) < mx.array(counts)[:, None])[..., None]
    out, after = gated_delta(q, k, v, mx.where(real, g, 0), mx.where(real, b, 0), state)
    for row, count in enumerate(counts):
        alone = slice(row, row + 1)
        if count == 0:
            assert mx.abs(after[row] - state[row]).max() <= 1e-6
            continue
        own = (part[alone, :count] for part in (q, k, v, g, b))
        assert_same((out[alone, :count], after[alone]), token_by_token(*own, state[alone]))


def test_a_long_pass_in_segments_is_one_pass(monkeypatch):
    arguments = drawn(5, 1, 100)
    whole = chunk_by_chunk(*arguments, chunk=delta.usual_chunk())
    monkeypatch.setattr(delta, "SEGMENT", 32)
    assert_same(gated_delta(*arguments), whole)


@pytest.mark.parametrize("groups", [1, 3])
def test_value_heads_share_key_heads_in_runs(groups):
    q, k, v, g, b, state = drawn(6, 1, 20, groups=groups)
    wide = [mx.repeat(part, groups, axis=2) for part in (q, k)]
    assert_same(chunk_by_chunk(q, k, v, g, b, state, chunk=8), chunk_by_chunk(*wide, v, g, b, state, chunk=8))


def test_the_strongest_decay_forgets_all_but_the_last_token():
    q, k, v, _, b, state = drawn(7, 1, 33)
    g = mx.full(b.shape, -1e30)
    out, _ = gated_delta(q, k, v, g, b, state)
    overlap = mx.repeat((q * k).sum(axis=-1), 2, axis=2)
    assert mx.allclose(out, (overlap * b)[..., None] * v, atol=1e-6)


def test_a_repeated_key_is_corrected_to_its_value():
    key = mx.array([0.6, 0.8]).reshape(1, 1, 1, 2)
    v = mx.array([[[[1.0, 2.0]]], [[[3.0, 4.0]]]]).reshape(1, 2, 1, 2)
    keys, ones = mx.broadcast_to(key, (1, 2, 1, 2)), mx.ones((1, 2, 1))
    out, state = gated_delta(keys, keys, v, 0 * ones, ones, mx.zeros((1, 1, 2, 2)))
    assert mx.allclose(out, v, atol=1e-6)
    assert mx.allclose(state[0, 0] @ mx.array([0.6, 0.8]), mx.array([3.0, 4.0]), atol=1e-6)


@pytest.mark.parametrize("size", [2, 4, 64])
def test_the_inverse_is_one(size):
    a = mx.tril(mx.random.uniform(-1, 1, (3, 2, size, size), key=mx.random.key(size)), -1) * size**-0.5
    product = unit_triangular_inverse(a) @ (mx.eye(size) + a)
    assert mx.allclose(product, mx.eye(size), atol=1e-4)


def test_the_inverse_holds_where_powers_explode():
    size = 64
    a = mx.tril(mx.full((size, size), 0.999), -1)
    product = unit_triangular_inverse(a) @ (mx.eye(size) + a)
    assert mx.allclose(product, mx.eye(size), atol=1e-4)
