import mlx.core as mx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlxp_core.kv import BatchCache, QuantizedPolicy
from mlxp_core.kv.masks import pair_mask
from mlxp_core.kv.positions import BatchPositions
from mlxp_core.kv.quantized import QuantizedStore, direct_limit
from mlxp_core.kv.store import PlainStore
from mlxp_core.loading.kv_config import BITS, GROUPS
from mlxp_core.types import KVStorage, kv_bytes

DIRECT, UNPACKED = 10**6, 0
MIB = 2**20


def noise(*shape, seed=0, dtype=mx.float32):
    return mx.random.normal(shape, key=mx.random.key(seed)).astype(dtype)


def unpacked(part, storage):
    how = {"group_size": storage.group_size, "bits": storage.bits}
    return mx.dequantize(*mx.quantize(part, **how), **how)


def masks(rows, width, keys):
    at = BatchPositions([keys - width] * rows, [width] * rows, width)
    yield "causal" if width > 1 else None
    yield pair_mask(mx.arange(keys)[None], at)
    yield pair_mask(mx.arange(keys)[None], at, window=3)


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("bits", BITS)
@pytest.mark.parametrize("direct", [DIRECT, UNPACKED], ids=["direct", "unpacked"])
def test_either_way_attends_to_what_is_stored(bits, group, direct):
    storage = KVStorage(bits, group)
    store, plain = QuantizedStore(storage, mx.float32, direct=direct), PlainStore(mx.float32)
    k, v = noise(2, 3, 17, 128, seed=1), noise(2, 3, 17, 128, seed=2)
    held, expected_held = store.pack(k, v), (unpacked(k, storage), unpacked(v, storage))
    for width in (1, 5):
        q = noise(2, 12, width, 128, seed=3)
        for mask in masks(2, width, 17):
            out = store.attend(q, held, scale=0.1, mask=mask)
            expected = plain.attend(q, expected_held, scale=0.1, mask=mask)
            assert mx.abs(out - expected).max() < 1e-5


@pytest.mark.parametrize("direct", [DIRECT, UNPACKED], ids=["direct", "unpacked"])
def test_keys_and_values_may_differ_in_size(direct):
    store = QuantizedStore(KVStorage(8, 32), mx.float32, direct=direct)
    held = store.pack(noise(1, 2, 9, 64, seed=1), noise(1, 2, 9, 32, seed=2))
    assert store.attend(noise(1, 4, 3, 64), held, scale=1.0, mask="causal").shape == (1, 4, 3, 32)


@pytest.mark.parametrize("dtype", [mx.bfloat16, mx.float16])
def test_short_types_are_stored_short_and_attended_to_closely(dtype):
    storage = KVStorage(8, 64)
    k, v = noise(1, 2, 40, 64, seed=1, dtype=dtype), noise(1, 2, 40, 64, seed=2, dtype=dtype)
    outs = []
    for direct in (DIRECT, UNPACKED):
        store = QuantizedStore(storage, dtype, direct=direct)
        held = store.pack(k, v)
        assert {plane.dtype for plane in held} == {mx.uint32, dtype}
        q = noise(1, 8, 1, 64, seed=3, dtype=dtype)
        out = store.attend(q, held, scale=0.125, mask=None)
        assert out.dtype == dtype
        outs.append(out.astype(mx.float32))
    assert mx.abs(outs[0] - outs[1]).max() < 0.02


@settings(deadline=None, max_examples=60)
@given(most=st.integers(1, 400), width=st.integers(2, 20), before=st.integers(0, 20), mask=st.integers(0, 2))
def test_blocks_of_queries_change_nothing(most, width, before, mask):
    keys = before + width
    whole = QuantizedStore(KVStorage(8, 32), mx.float32, direct=UNPACKED)
    blocks = QuantizedStore(KVStorage(8, 32), mx.float32, direct=UNPACKED, most_scores=most)
    held, q = whole.pack(noise(1, 2, keys, 32, seed=1), noise(1, 2, keys, 32, seed=2)), noise(1, 4, width, 32)
    seen = list(masks(1, width, keys))[mask]
    out, expected = (store.attend(q, held, scale=0.2, mask=seen) for store in (blocks, whole))
    assert mx.abs(out - expected).max() < 1e-5


def test_scores_of_a_long_prompt_are_never_all_there():
    store = QuantizedStore(KVStorage(4, 32), mx.float32, direct=UNPACKED, most_scores=MIB)
    q = noise(1, 8, 512, 32)
    held = store.pack(noise(1, 1, 4096, 32, seed=1), noise(1, 1, 4096, 32, seed=2))
    mx.eval(q, held)
    before = mx.get_active_memory()
    mx.reset_peak_memory()
    mx.eval(store.attend(q, held, scale=0.2, mask="causal"))
    assert 64 * MIB == 8 * 512 * 4096 * 4
    assert mx.get_peak_memory() - before < 32 * MIB


def test_this_device_has_the_direct_way():
    assert direct_limit(KVStorage(8, 64), mx.float32) > 0


def test_what_mlx_cannot_quantize_is_refused_at_once():
    with pytest.raises(ValueError, match="group size"):
        direct_limit(KVStorage(8, 48), mx.float32)


@given(
    heads=st.integers(1, 3),
    tokens=st.integers(1, 40),
    bits=st.sampled_from(BITS),
    group=st.sampled_from(GROUPS),
    dtype=st.sampled_from([mx.float32, mx.bfloat16]),
)
@settings(deadline=None, max_examples=40)
def test_the_arithmetic_of_bytes_is_what_a_snapshot_takes(heads, tokens, bits, group, dtype):
    storage = KVStorage(bits, group)
    layer = QuantizedPolicy(dtype, {0: storage}).full(0)
    cache = BatchCache([layer])
    at = cache.begin([tokens], tokens)
    new = noise(1, heads, tokens, 128)
    layer.attend(new, new, new, at, scale=1.0)
    cache.commit(at)
    assert cache.freeze(0).nbytes == kv_bytes(2 * heads * tokens * 128, storage, dtype.size)


@given(values=st.integers(0, 2**40), value_bytes=st.sampled_from([2, 4]))
def test_plain_bytes_are_values_times_their_size(values, value_bytes):
    assert kv_bytes(values, None, value_bytes) == values * value_bytes


@given(blocks=st.integers(0, 2**30), bits=st.sampled_from(BITS), group=st.sampled_from(GROUPS))
def test_quantized_bytes_follow_the_formula(blocks, bits, group):
    values = 128 * blocks
    assert kv_bytes(values, KVStorage(bits, group), 2) == values * bits // 8 + 2 * 2 * values // group
