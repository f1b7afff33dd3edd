"""Checkpoints of a row that counts: the key at position ``p`` is ``p``, whoever wrote it."""

import mlx.core as mx
import pytest

from mlxp_core.kv import BatchCache, PlainPolicy
from mlxp_core.promptcache import Namespace
from mlxp_core.promptcache.pieces import take

WINDOW = 5
HERE = Namespace("w", "float32")


def empty(*, recurrent=True):
    """Return an empty row: a full layer, a sliding one, and perhaps one with state."""
    policy = PlainPolicy(mx.float32, slack=2)
    layers = [policy.full(0), policy.sliding(1, WINDOW)]
    return BatchCache([*layers, policy.state(2, [(3,)], [mx.float32])] if recurrent else layers)


def write(cache, tokens):
    """Store tokens; their keys and values are the tokens themselves."""
    at = cache.begin([len(tokens)], len(tokens))
    new = mx.array(tokens, dtype=mx.float32)[None, None, :, None]
    query = mx.zeros((1, 1, len(tokens), 1))
    for layer in cache.layers[:2]:
        layer.attend(query, new, new + 0.5, at, scale=1.0)
    for layer in cache.layers[2:]:
        layer.state = (layer.state[0] + sum(tokens),)
    cache.commit(at)


def taken(cache, bases=()):
    (length,) = cache.lengths
    return take(lambda starts: cache.freeze(0, starts).layers, length, cache.reached(0), list(bases))


def told(snapshots, length):
    """Return what snapshots say: tokens of the full layer, of the window, and the state."""
    full, sliding, *state = snapshots
    return (
        full.arrays[0].flatten().tolist(),
        sliding.arrays[0].flatten().tolist()[-WINDOW:],
        [part.tolist() for snapshot in state for part in snapshot.arrays],
    )


@pytest.fixture(scope="session")
def row():
    """Make a row that has read some tokens."""

    def make(tokens, **more):
        cache = empty(**more)
        if tokens:
            write(cache, list(tokens))
        return cache

    make.write, make.taken, make.told, make.window, make.namespace = write, taken, told, WINDOW, HERE
    return make
