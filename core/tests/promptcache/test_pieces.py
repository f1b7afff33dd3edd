"""Whatever pieces a checkpoint is put together from, it says what a row says that was never cut."""

import random

import mlx.core as mx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from mlxp_core.kv import BatchCache, PlainPolicy, QuantizedPolicy, RowSnapshot
from mlxp_core.promptcache.pieces import made_of, on_host, snapshots_of
from mlxp_core.types import KVStorage


def agreed(one, other):
    length = 0
    while length < min(len(one), len(other)) and one[length] == other[length]:
        length += 1
    return length


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    cuts=st.lists(st.integers(1, 9), min_size=1, max_size=8),
    recurrent=st.booleans(),
)
def test_pieces_say_what_the_whole_says(row, seed, cuts, recurrent):
    dice, known = random.Random(seed), []
    for _ in range(3):
        tokens, cache = [], row([], recurrent=recurrent)
        for count in cuts:
            new = [dice.choice((len(tokens) + n, 100)) for n in range(count)]
            row.write(cache, new)
            tokens = tokens + new
            bases = [(held, agreed(tokens, others)) for others, held in known]
            known.append((tokens, row.taken(cache, [pair for pair in bases if pair[1]])))
    for tokens, held in known:
        for length in range(1, len(tokens) + 1):
            if held.reaches(length):
                whole = row(tokens[:length], recurrent=recurrent).freeze(0).layers
                assert row.told(snapshots_of(held, length), length) == row.told(whole, length)
        assert held.reaches(len(tokens))
        assert not recurrent or not any(held.reaches(length) for length in range(len(tokens)))


def test_checkpoints_of_one_row_hold_its_tokens_once(row):
    cache, known = row([]), []
    for start in range(0, 200, 10):
        row.write(cache, list(range(start, start + 10)))
        known.append(row.taken(cache, [(known[-1], start)] if known else []))
    full = {piece for held in known for piece in held.groups[0].links}
    assert sum(link.piece.nbytes for link in full) == 200 * 2 * 4
    assert all(len(held.groups[1].links) <= 2 for held in known)


def test_a_piece_is_shared_if_half_of_it_is(row):
    one = row.taken(row(range(10)))
    for shared, count in ((4, 1), (5, 2)):
        other = row([*range(shared), *range(100, 110)])
        held = row.taken(other, [(one, shared)])
        assert len(held.groups[0].links) == count


def test_a_row_that_went_back_serves_its_own_place_and_nobody_builds_on_its_window(row):
    cache = row(range(20), recurrent=False)
    assert cache.trim(0, 2)
    held = row.taken(cache)
    assert [length for length in range(1, 20) if held.reaches(length)] == [18]
    thawed = row([], recurrent=False).thaw(RowSnapshot(snapshots_of(held, 18), 18, held.reached))
    assert not thawed.trim(0, 1)
    further = row([*range(18), 50], recurrent=False)
    assert row.taken(further, [(held, 18)]).groups[1].links[0].piece not in held.parts


@pytest.mark.parametrize("dtype", [mx.float32, mx.bfloat16, mx.float16, mx.uint32])
def test_arrays_come_back_from_the_host_bit_by_bit(row, dtype):
    held = row.taken(row(range(9)))
    piece = held.groups[0].links[0].piece
    arrays = tuple(tuple(array.astype(dtype) for array in layer) for layer in piece.layers)
    mx.eval(arrays)
    cast = type(piece)(piece.first, piece.stop, arrays, 0)
    rows = [[replace(tensor, data=bytes(tensor.data)) for tensor in row] for row in on_host(cast)]
    back = made_of(piece.first, piece.stop, rows)
    for one, other in zip(arrays[0], back.layers[0], strict=True):
        assert one.dtype == other.dtype
        assert mx.array_equal(one, other)


POLICIES = {
    "plain": PlainPolicy(mx.float32, slack=2),
    "8 bits": QuantizedPolicy(mx.float32, {0: KVStorage(8, 32), 1: KVStorage(8, 32)}, slack=2),
    "mixed": QuantizedPolicy(mx.float32, {1: KVStorage(4, 32)}, slack=2),
}


@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES)
def test_every_kind_of_cache_comes_back_bit_by_bit(row, policy):
    def empty():
        return BatchCache([policy.full(0), policy.sliding(1, 12)])

    def read(cache, new):
        at = cache.begin([new.shape[2]], new.shape[2])
        for layer in cache.layers:
            layer.attend(new, new, new + 1, at, scale=1.0)
        cache.commit(at)

    tokens = mx.random.normal((1, 2, 60, 32), key=mx.random.key(3))
    cache, known = empty(), []
    for start in range(0, 60, 5):
        read(cache, tokens[:, :, start : start + 5])
        known.append(row.taken(cache, [(known[-1], start)] if known else []))
    for held in known:
        thawed = empty().thaw(RowSnapshot(snapshots_of(held, held.length), held.length, held.length))
        whole = empty()
        read(whole, tokens[:, :, : held.length])
        for one, other in zip(thawed.freeze(0).layers, whole.freeze(0).layers, strict=True):
            assert all(mx.array_equal(*pair) for pair in zip(one.arrays, other.arrays, strict=True))
