"""Counterparts of caches answer as the first rank's do, whatever rows and the prompt cache do."""

import gc
import random

import mlx.core as mx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlxp_core.kv import BatchCache, PlainPolicy, RowSnapshot
from mlxp_core.loading.network import Network
from mlxp_core.promptcache.pieces import snapshots_of, take
from mlxp_core.ranks.follower import Follower
from mlxp_core.ranks.led import Led
from mlxp_core.ranks.mirror import Ledger

DIM, WINDOW = 4, 6


class Layers:
    """A network of one layer of each kind, whose keys and values are the tokens it reads."""

    def make_caches(self, policy):
        return [policy.full(0), policy.sliding(1, WINDOW), policy.state(2, [(1,)], [mx.float32])]


def read(layers, at, tokens):
    """Have caches of all kinds read ``[rows, width]`` tokens; return what they answer."""
    wide = mx.broadcast_to(tokens[:, None, :, None], (*tokens.shape[:1], 1, tokens.shape[1], DIM))
    full, sliding, state = layers
    answers = [cache.attend(wide, wide, wide, at, scale=1.0) for cache in (full, sliding)]
    (before,) = state.state
    real = tokens if at.valid is None else mx.where(at.valid, tokens, 0)
    state.state = (before * 0.5 + real.sum(axis=1, keepdims=True),)
    (after,) = state.state
    return [*answers, after[:, None, None]]  # [rows, 1, width or 1, DIM or 1] each


def agreed(one, other):
    """Return how many tokens two texts begin with alike."""
    return next(
        (place for place, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]),
        min(len(one), len(other)),
    )


class Both:
    """Rows of the first rank and their counterparts, in one batch, and checkpoints of them."""

    def __init__(self, seed):
        self._dice = random.Random(seed)
        self._policy = PlainPolicy(mx.float32, slack=2)
        part = Network(Layers(), self._policy, 0, 0)
        self._ledger = Ledger()
        self._led = Led(self._ledger.number(), part, None, self._ledger, None)
        self.follower = Follower(None, None, None)
        self.follower._networks[0] = part
        self._batch, self._texts = self._row(), [[]]
        self._known = []  # checkpoints with their tokens

    def _row(self):
        return BatchCache(self._led.make_caches(self._policy))

    def tell(self):
        """Have the counterparts do what has been done so far."""
        for message in self._ledger.news():
            self.follower._keep_step(message)

    def read(self):
        """Every row reads a few tokens, on both sides; the answers must be the same to the bit."""
        news = [
            [float(self._dice.randint(1, 9)) for _ in range(self._dice.randint(0, 4))] for _ in self._texts
        ]
        width = max(1, *map(len, news))
        tokens = mx.array([[*new, *[0.0] * (width - len(new))] for new in news])
        self.tell()
        at = self._batch.begin([len(new) for new in news], width)
        ours = read([mirror.own for mirror in self._batch.layers], at, tokens)
        theirs = read([self.follower._caches[mirror.number] for mirror in self._batch.layers], at, tokens)
        self._batch.commit(at)
        self._texts = [text + new for text, new in zip(self._texts, news, strict=True)]
        for row, new in enumerate(news):
            for here, there in zip(ours, theirs, strict=True):
                real = slice(0, max(1, len(new)))
                assert mx.array_equal(here[row, ..., real, :], there[row, ..., real, :], equal_nan=True)

    def join(self):
        """A row comes, empty or from a checkpoint, wherever that may be cut."""
        row, text = self._row(), []
        if self._known:
            text, held = self._dice.choice(self._known)
            length = self._dice.choice([each for each in range(1, len(text) + 1) if held.reaches(each)])
            reached = held.reached if length == held.length else length
            row, text = row.thaw(RowSnapshot(snapshots_of(held, length), length, reached)), text[:length]
        self._batch.join(row)
        self._texts.append(list(text))

    def leave(self):
        """Some rows leave, and others change places."""
        rows = self._dice.sample(range(len(self._texts)), self._dice.randint(1, len(self._texts)))
        self._batch.keep(rows)
        self._texts = [self._texts[row] for row in rows]

    def take(self):
        """A checkpoint of a row is taken, on top of those that begin alike."""
        row = self._dice.randrange(len(self._texts))
        text = self._texts[row]
        if text:
            bases = [(held, agreed(text, other)) for other, held in self._known]
            held = take(
                lambda starts: self._batch.freeze(row, starts).layers,
                len(text),
                self._batch.reached(row),
                [base for base in bases if base[1]],
            )
            self._known.append((list(text), held))

    def forget(self):
        """A checkpoint is dropped; others may share its pieces."""
        if self._known:
            del self._known[self._dice.randrange(len(self._known))]

    def end(self):
        """Let go of all rows and checkpoints."""
        self._batch, self._known = self._row(), []
        gc.collect()
        self.tell()
        self._batch = None
        gc.collect()
        self.tell()


@settings(max_examples=20)
@given(
    seed=st.integers(0, 2**32),
    steps=st.lists(
        st.sampled_from(["read", "read", "join", "leave", "take", "forget"]), min_size=4, max_size=25
    ),
)
def test_counterparts_answer_alike_and_nothing_stays_behind(seed, steps):
    both = Both(seed)
    for step in [*steps, "read"]:
        getattr(both, step)()
    both.end()
    assert both.follower._caches == {}
    assert both.follower._snapshots == {}


def test_a_row_that_goes_back_goes_back_everywhere():
    both = Both(1)
    for _ in range(3):
        both.read()
    at = both._batch.begin([2], 2, revocable=True)
    both.tell()
    for layers in (
        [m.own for m in both._batch.layers],
        [both.follower._caches[m.number] for m in both._batch.layers],
    ):
        (before,) = layers[2].state
        read(layers, at, mx.array([[5.0, 6.0]]))
        layers[2].remember(at, lambda counts, before=before: (before * 0.5 ** counts[0] + 0.5 * counts[0],))
    both._batch.commit(at)
    assert both._batch.trim(0, 1)
    both._texts = [[*both._texts[0], 5.0]]
    both.read()


def test_a_detour_is_refused():
    (mirror, *_) = Both(0)._batch.layers
    with pytest.raises(NotImplementedError, match="ranks"):
        mirror.mark()
