"""The cache suite catches caches that are almost right."""

import mlx.core as mx
import pytest

from mlxp_core.contracts import Snapshot
from mlxp_core.kv import FullCache, PlainPolicy, SlidingCache
from mlxp_core.kv.store import PlainStore
from mlxp_core.testing.caches import Bench, CacheSuite


class Full(PlainPolicy):
    """Makes full caches of the kind given."""

    def __init__(self, kind):
        super().__init__(mx.float32)
        self.kind = kind

    def full(self, layer):
        return self.kind(PlainStore(mx.float32))


class Sliding(PlainPolicy):
    """Makes sliding caches of the kind given."""

    def __init__(self, kind):
        super().__init__(mx.float32)
        self.kind = kind

    def sliding(self, layer, window):
        return self.kind(PlainStore(mx.float32), window, 4)


class Shared(FullCache):
    """Broken: a snapshot is the very array that is written to."""

    def freeze(self, row, length, start=0):
        arrays = self.held.planes
        return Snapshot(arrays=arrays, nbytes=sum(array.nbytes for array in arrays))


class Unordered(FullCache):
    """Broken: rows are kept in their old order."""

    def keep(self, rows):
        super().keep(sorted(rows))


class NotCausal(FullCache):
    """Broken: every query sees every key of its pass."""

    def attend(self, q, k, v, at, *, scale, overlay=None):
        every = mx.ones((len(at), at.width, at.width), dtype=mx.bool_)
        return super().attend(q, k, v, at, scale=scale, overlay=every)


class OneTooFar(SlidingCache):
    """Broken: the window is one too wide."""

    def __init__(self, store, window, slack):
        super().__init__(store, window + 1, slack)


class Boastful(SlidingCache):
    """Broken: it says that it can always go back."""

    def can_trim(self, row, to, reached):
        return True


def laws(policy, window):
    """Run every law that takes a bench."""
    suite = CacheSuite()

    def bench(seed):
        return Bench(policy, window, dim=8, seed=seed, tolerance=2e-5)

    for seed in range(12):
        suite.test_any_schedule_attends_like_plain_attention(bench, seed)
    suite.test_going_back_is_refused_or_exact(bench)
    suite.test_a_snapshot_is_safe_from_what_comes_later(bench)


def test_a_snapshot_that_is_written_to_is_caught():
    def bench(seed):
        return Bench(Full(Shared), None, dim=8, seed=seed, tolerance=2e-5)

    with pytest.raises(AssertionError):
        CacheSuite().test_a_snapshot_is_safe_from_what_comes_later(bench)


@pytest.mark.parametrize("kind", [Unordered, NotCausal])
def test_a_broken_full_cache_is_caught(kind):
    with pytest.raises(AssertionError):
        laws(Full(kind), None)


@pytest.mark.parametrize("kind", [OneTooFar, Boastful])
def test_a_broken_ring_is_caught(kind):
    with pytest.raises(AssertionError):
        laws(Sliding(kind), 8)


def test_the_right_ones_pass():
    laws(Full(FullCache), None)
    laws(Sliding(SlidingCache), 8)
