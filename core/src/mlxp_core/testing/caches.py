"""What every kind of cache must hold to, whoever wrote it.

Subclass ``CacheSuite`` and give it your ``policy``. Its laws run random schedules (passes of ragged rows, joins, keeps,
trims, freezing and thawing) against a plain softmax over plain lists of keys and values.
"""

import random
from collections.abc import Callable
from typing import cast

import mlx.core as mx
import pytest

from mlxp_core.contracts import AttentionCache, KVPolicy
from mlxp_core.kv import BatchCache
from mlxp_core.testing.plain_attention import HEADS, KV_HEADS, Row, plain_attention

SEEDS = range(12)
WINDOWS = (None, 3, 8, 40)
WIDTHS = (1, 1, 1, 2, 5, 9, 30)


Stored = Callable[[mx.array], mx.array]
"""What keys or values are once they are stored: ``[kv_heads, count, dim]`` to the same shape, token by token."""


def as_it_is(part: mx.array) -> mx.array:
    """Return what was given."""
    return part


class Bench:
    """A batch over one attention layer, and beside it the same rows as plain lists."""

    def __init__(
        self,
        policy: KVPolicy,
        window: int | None,
        *,
        dim: int,
        seed: int,
        tolerance: float,
        stored: Stored = as_it_is,
    ) -> None:
        """Start with one empty row."""
        self.policy, self.window, self.dim, self.tolerance = policy, window, dim, tolerance
        self.stored = stored
        self.random = random.Random(seed)  # noqa: S311  # a schedule, not a secret
        self.cache = self.empty()
        self.rows = [Row(dim)]

    def empty(self) -> BatchCache:
        """Return an empty row."""
        layer = self.policy.full(0) if self.window is None else self.policy.sliding(0, self.window)
        return BatchCache([layer])

    def attend(self, counts: list[int], width: int, *, overlay: mx.array | None = None) -> None:
        """Run one pass and compare every real query with plain attention."""
        q, k, v = (self.noise(len(counts), heads, width) for heads in (HEADS, KV_HEADS, KV_HEADS))
        at, scale = self.cache.begin(counts, width), self.dim**-0.5
        layer = cast("AttentionCache", self.cache.layers[0])
        out = layer.attend(q, k, v, at, scale=scale, overlay=overlay)
        again = layer.attend(q, None, None, at, scale=scale, overlay=overlay)
        self.cache.commit(at)
        assert mx.isfinite(out).all(), "padding made a query infinite or not a number"
        assert mx.array_equal(out, again), "attending again, without keys, gave something else"
        for index, (row, count) in enumerate(zip(self.rows, counts, strict=True)):
            row.extend(self.stored(k[index, :, :count]), self.stored(v[index, :, :count]))
            if count:
                block = None if overlay is None else overlay[index, :count, :count]
                expected = plain_attention(q[index, :, :count], row, self.window, scale, block)
                off = mx.abs(out[index, :, :count] - expected).max()
                assert off <= self.tolerance, f"row {index} of {at.starts} + {counts} is off by {off}"
        assert self.cache.lengths == [len(row) for row in self.rows]

    def noise(self, rows: int, heads: int, width: int) -> mx.array:
        """Return ``[rows, heads, width, dim]`` of normal numbers."""
        key = mx.random.key(self.random.getrandbits(32))
        return mx.random.normal((rows, heads, width, self.dim), key=key)

    def ragged(self) -> None:
        """Run a pass with a random number of tokens in each row."""
        width = self.random.choice(WIDTHS)
        counts = [self.random.choice((width, width, self.random.randint(0, width))) for _ in self.rows]
        self.attend(counts, width)

    def join(self) -> None:
        """Add a row that has read a prompt, or none."""
        seed = self.random.getrandbits(32)
        other = Bench(
            self.policy,
            self.window,
            dim=self.dim,
            seed=seed,
            tolerance=self.tolerance,
            stored=self.stored,
        )
        if prompt := self.random.choice((0, 1, 6, 20, 70)):
            other.attend([prompt], prompt)
        self.cache.join(other.cache)
        self.rows += other.rows

    def keep(self) -> None:
        """Keep some of the rows, in another order."""
        rows = self.random.sample(range(len(self.rows)), self.random.randint(1, len(self.rows)))
        self.cache.keep(rows)
        self.rows = [self.rows[row] for row in rows]

    def trim(self) -> None:
        """Go back in one row, where its cache can."""
        row = self.random.randrange(len(self.rows))
        count = self.random.randint(0, min(len(self.rows[row]), 12))
        if self.cache.trim(row, count):
            self.rows[row].shorten(count)

    def freeze(self) -> None:
        """Freeze a row, go on, and put the row back as it was."""
        row = self.random.randrange(len(self.rows))
        snapshot, kept = self.cache.freeze(row), self.rows[row].copy()
        self.ragged()
        self.cache.join(self.empty().thaw(snapshot))
        self.rows.append(kept)
        self.attend([1] * len(self.rows), 1)


class CacheSuite:
    """Laws of caches. Give it a fixture ``policy``; override ``dim``, ``tolerance`` and ``stored`` if need be."""

    @pytest.fixture
    def policy(self) -> KVPolicy:
        """Return the policy under test."""
        raise NotImplementedError("give CacheSuite a fixture `policy`")

    @pytest.fixture
    def dim(self) -> int:
        """Return a head size that the policy can store."""
        return 8

    @pytest.fixture
    def tolerance(self) -> float:
        """Return how far an output may be off."""
        return 2e-5

    @pytest.fixture
    def stored(self) -> Stored:
        """Return what the policy makes of keys and values; by default, it stores them as they are."""
        return as_it_is

    @pytest.fixture(params=WINDOWS, ids=lambda window: f"window {window}")
    def bench(
        self, request: pytest.FixtureRequest, policy: KVPolicy, dim: int, tolerance: float, stored: Stored
    ) -> Callable[[int], Bench]:
        """Return a maker of benches, by seed."""
        window = request.param
        return lambda seed: Bench(policy, window, dim=dim, seed=seed, tolerance=tolerance, stored=stored)

    @pytest.mark.parametrize("seed", SEEDS)
    def test_any_schedule_attends_like_plain_attention(
        self, bench: Callable[[int], Bench], seed: int
    ) -> None:
        """Ragged passes, joins, keeps, trims and thaws, in any order."""
        under = bench(seed)
        for _ in range(14):
            match under.random.choice(("pass", "pass", "pass", "join", "keep", "trim", "freeze")):
                case "pass":
                    under.ragged()
                case "join" if len(under.rows) < 4:
                    under.join()
                case "keep":
                    under.keep()
                case "trim":
                    under.trim()
                case "freeze" if len(under.rows) < 4:
                    under.freeze()
        under.attend([1] * len(under.rows), 1)

    def test_single_tokens_run_far_past_any_window(self, bench: Callable[[int], Bench]) -> None:
        """A row decoded token by token stays right when rings wrap again and again."""
        under = bench(0)
        for _ in range(130):
            under.attend([1], 1)

    def test_a_row_that_gets_nothing_is_left_as_it_was(self, bench: Callable[[int], Bench]) -> None:
        """Rows may sit a pass out, even an empty row."""
        under = bench(1)
        under.join()
        under.attend([0, 5], 5)
        for _ in range(50):
            under.attend([0, 1], 1)
        under.attend([0, 60], 60)
        under.attend([3, 0], 3)
        under.attend([1, 1], 1)

    def test_pairs_of_an_overlay_see_each_other(self, bench: Callable[[int], Bench]) -> None:
        """Blocks of one pass may look ahead, and back beyond any window."""
        under = bench(2)
        under.join()
        under.attend([7, 3], 7)
        for width in (6, 30):
            blocks = mx.arange(width) // 12
            real = mx.arange(width) < mx.array([[width], [width - 2]])
            overlay = (blocks[:, None] == blocks) & real[:, :, None] & real[:, None]
            under.attend([width, width - 2], width, overlay=overlay)
        under.attend([1, 1], 1)

    def test_going_back_is_refused_or_exact(self, bench: Callable[[int], Bench]) -> None:
        """After any trim that was granted, the row attends as if it had never gone on."""
        for count in (0, 1, 2, 5, 11, 16, 17, 30, 45):
            under = bench(count)
            under.attend([50], 50)
            for _ in range(10):
                under.attend([1], 1)
            if under.cache.trim(0, count):
                under.rows[0].shorten(count)
            under.attend([1], 1)
            assert not under.cache.trim(0, 1000)

    def test_a_snapshot_is_safe_from_what_comes_later(self, bench: Callable[[int], Bench]) -> None:
        """What was frozen holds the same bits after the batch, and a thawed row, went on."""
        under = bench(3)
        under.attend([12], 12)
        snapshot = under.cache.freeze(0)
        arrays = [array for layer in snapshot.layers for array in layer.arrays]
        before = [array.tolist() for array in arrays]
        assert snapshot.nbytes == sum(array.nbytes for array in arrays) > 0
        thawed = under.empty().thaw(snapshot)
        back = 2 if thawed.trim(0, 2) else 0
        under.attend([30], 30)
        under.rows[0].shorten(30 + back)
        under.cache = thawed
        under.attend([9], 9)
        assert [array.tolist() for array in arrays] == before

    def test_any_cut_stores_the_same(self, bench: Callable[[int], Bench]) -> None:
        """However a text is cut into passes, a row keeps the same bits: those of its tokens, one by one."""
        whole = bench(5)
        q, k, v = (whole.noise(1, heads, 60) for heads in (HEADS, KV_HEADS, KV_HEADS))
        kept = []
        for width in (60, 1, 7, 31):
            cache, parts = whole.empty(), []
            layer = cast("AttentionCache", cache.layers[0])
            for start in range(0, 60, width):
                new = [part[:, :, start : start + width] for part in (q, k, v)]
                at = cache.begin([new[0].shape[2]], new[0].shape[2])
                parts.append(layer.attend(new[0], new[1], new[2], at, scale=whole.dim**-0.5))
                cache.commit(at)
            out, snapshot = mx.concatenate(parts, axis=2), layer.freeze(0, 60)
            kept.append((out, snapshot.arrays))
        first_out, first = kept[0]
        for out, arrays in kept[1:]:
            assert all(mx.array_equal(*pair) for pair in zip(first, arrays, strict=True))
            assert mx.abs(out - first_out).max() <= whole.tolerance

    def test_nbytes_covers_what_is_stored(self, bench: Callable[[int], Bench]) -> None:
        """An empty cache is free, each row costs the same, and keeping fewer rows gives bytes back."""
        under = bench(4)
        assert under.cache.nbytes == 0
        under.attend([20], 20)
        one = under.cache.nbytes
        assert one >= min(20, under.window or 20) * KV_HEADS * under.dim
        under.cache.join(under.empty().thaw(under.cache.freeze(0)))
        assert under.cache.nbytes == 2 * one
        under.cache.keep([1])
        assert under.cache.nbytes == one

    def test_state_is_zero_then_what_the_layer_set(self, policy: KVPolicy) -> None:
        """Rows of state come, go, freeze and thaw as they are; nothing can be taken back."""
        one, other = (policy.state(0, [(3, 2), (4,)], [mx.float32, mx.int32]) for _ in range(2))
        assert [part.shape for part in one.state] == [(1, 3, 2), (1, 4)]
        assert not any(part.any() for part in one.state)
        assert one.nbytes == 3 * 2 * 4 + 4 * 4
        one.state = (one.state[0] + 1.5, one.state[1] + 1)
        one.join(other)
        assert [part.sum(axis=-1).flatten().tolist() for part in one.state] == [[3, 3, 3, 0, 0, 0], [4, 0]]
        snapshot = one.freeze(0, 9)
        one.keep([1])
        assert not any(part.any() for part in one.state)
        assert mx.array_equal(other.thaw(snapshot).state[0], mx.full((1, 3, 2), 1.5))
        assert snapshot.nbytes == one.nbytes
        assert not one.can_trim(0, 8, 9)

    def test_state_goes_back_into_a_pass_that_is_remembered(self, policy: KVPolicy) -> None:
        """Each row to where it likes, and further back afterwards, until the state is set anew."""
        layer = policy.state(0, [(2,)], [mx.float32])
        layer.join(policy.state(0, [(2,)], [mx.float32]))
        cache = BatchCache([layer], [4, 7])
        at = cache.begin([3, 2], 3, revocable=True)
        layer.state = (layer.state[0] + mx.array([[3.0], [2.0]]),)
        layer.remember(at, lambda counts: (mx.zeros((2, 2)) + counts[:, None],))
        cache.commit(at)
        for row, count, expected in ((0, 2, [1, 2]), (1, 1, [1, 1]), (1, 1, [1, 0]), (0, 0, [1, 0])):
            assert cache.trim(row, count)
            assert layer.state[0][:, 0].tolist() == expected
        assert cache.lengths == [5, 7]
        assert not cache.trim(0, 2), "a row went back beyond the pass"
        layer.state = (layer.state[0] + 1,)
        assert not cache.trim(0, 1), "a row went back into a pass that was over"
        assert layer.state[0][:, 0].tolist() == [2, 1]
